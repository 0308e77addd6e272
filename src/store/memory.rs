//! What is remembered across runs. [`crate::memory`] says what follows from it.

use rusqlite::{Connection, Params, Row};

use super::column::{At, Word};
use super::{Reader, Store, StoreError, Ticket};
use crate::digest::Digest;
use crate::memory::{DEMOTED_K, Dream, Level, Megram, Tags, dream};
use crate::time::Moment;

/// Which megrams are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    #[default]
    All,
    /// Those of a level.
    Level(Level),
    /// Those of a space.
    Space(String),
    /// Those of a cluster.
    Cluster(Tags),
    /// Those whose id begins with some digits.
    Id(String),
}

impl Store {
    /// Remembers megrams, all or none; answers how many are new. One that is known stays as it is,
    /// so that whoever goes on after a crash may write what it wrote. Never waits: the answer need
    /// not be waited for either.
    pub fn remember(&self, megrams: Vec<Megram>) -> Ticket<usize> {
        self.sql(move |writing| {
            let mut new = 0;
            for megram in &megrams {
                new += insert(writing.connection, megram)?;
            }
            Ok(new)
        })
    }

    /// Notes that megrams were told to a planner.
    pub fn recall(&self, ids: Vec<Digest>, now: Moment) -> Ticket<()> {
        self.sql(move |writing| {
            let sql = "UPDATE megrams SET recalled = max(ifnull(recalled, ?2), ?2) WHERE id = ?1";
            let mut statement = writing.connection.prepare_cached(sql)?;
            for id in &ids {
                statement.execute((id.to_string(), At(now)))?;
            }
            Ok(())
        })
    }

    /// Forgets megrams; answers how many there were.
    pub fn forget(&self, ids: Vec<Digest>) -> Ticket<usize> {
        self.sql(move |writing| delete(writing.connection, &ids))
    }

    /// Lets the Dreamer work, in one transaction: what is written meanwhile comes before or after
    /// it. Answers what it did.
    pub fn dream(&self, now: Moment) -> Ticket<Dream> {
        self.sql(move |writing| {
            let connection = writing.connection;
            let dreamt = dream(&select(connection, &Which::All)?, now);
            let sql = "UPDATE megrams SET level = ?2, k = ?3 WHERE id = ?1";
            for id in &dreamt.demote {
                let mut statement = connection.prepare_cached(sql)?;
                statement.execute((id.to_string(), Level::Knowledge.as_str(), DEMOTED_K))?;
            }
            delete(connection, &dreamt.forget)?;
            for rule in &dreamt.promote {
                insert(connection, rule)?;
            }
            Ok(dreamt)
        })
    }
}

impl Reader {
    /// What is remembered, oldest first.
    pub fn memory(&self, which: &Which) -> Result<Vec<Megram>, StoreError> {
        select(self.connection(), which).map_err(|error| self.failed(&error))
    }
}

fn insert(connection: &Connection, megram: &Megram) -> rusqlite::Result<usize> {
    let sql = "INSERT OR IGNORE INTO megrams
                   (id, level, created, recalled, space, entity, content, state, f, sigma, k)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    connection.prepare_cached(sql)?.execute((
        megram.id.to_string(),
        megram.level.as_str(),
        At(megram.created),
        megram.recalled.map(At),
        &megram.tags.space,
        &megram.tags.entity,
        &megram.content,
        megram.state.as_str(),
        megram.f,
        megram.sigma,
        megram.k,
    ))
}

fn delete(connection: &Connection, ids: &[Digest]) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached("DELETE FROM megrams WHERE id = ?1")?;
    let mut gone = 0;
    for id in ids {
        gone += statement.execute([id.to_string()])?;
    }
    Ok(gone)
}

fn select(connection: &Connection, which: &Which) -> rusqlite::Result<Vec<Megram>> {
    match which {
        Which::All => all(connection, "true", []),
        Which::Level(level) => all(connection, "level = ?1", [level.as_str()]),
        Which::Space(space) => all(connection, "space = ?1", [space]),
        Which::Cluster(Tags { space, entity }) => {
            all(connection, "space = ?1 AND entity = ?2", [space, entity])
        }
        // "g" follows every hexadecimal digit.
        Which::Id(start) => all(connection, "id >= ?1 AND id < ?1 || 'g'", [start]),
    }
}

fn all(connection: &Connection, only: &str, values: impl Params) -> rusqlite::Result<Vec<Megram>> {
    let sql = format!("SELECT * FROM megrams WHERE {only} ORDER BY created, id");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map(values, read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Megram> {
    Ok(Megram {
        id: row.get::<_, Word<Digest>>("id")?.0,
        level: row.get::<_, Word<_>>("level")?.0,
        created: row.get::<_, At>("created")?.0,
        recalled: row.get::<_, Option<At>>("recalled")?.map(|at| at.0),
        tags: Tags {
            space: row.get("space")?,
            entity: row.get("entity")?,
        },
        content: row.get("content")?,
        state: row.get::<_, Word<_>>("state")?.0,
        f: row.get("f")?,
        sigma: row.get("sigma")?,
        k: row.get("k")?,
    })
}
