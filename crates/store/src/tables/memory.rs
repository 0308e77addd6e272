//! The memory across runs. [`wf_core::memory`] defines its rules.

use rusqlite::{Connection, Params, Row};

use crate::{
    column::{MomentColumn, RowColumns},
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::StoreError,
    projections::row_log,
    query,
    tables::{
        erase::{self, MEMORY},
        notes,
    },
};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::memory::{DEMOTED_K, DreamChanges, Megram, MegramLevel, MegramTags, MemoryBundle, dream};

/// A selection of megrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MegramSelection {
    #[default]
    All,
    Level(MegramLevel),
    Space(String),
    Cluster(MegramTags),
    /// The megrams whose id begins with some digits.
    Id(String),
}

/// The tables `megrams` and `notes`.
#[derive(Clone, Copy, Debug)]
pub struct MemoryTable<S>(pub(crate) S);

impl MemoryTable<&Store> {
    /// Remembers megrams, all or none; returns the number of new ones. A known one stays as it is, so a
    /// resumed run may write the same again. Never blocks; the ticket need not be awaited.
    pub fn remember(self, megrams: Vec<Megram>) -> WriteTicket<usize> {
        self.0.row_sql(move |connection| {
            let mut new = 0;
            for megram in &megrams {
                new += insert(connection, megram)?;
            }
            Ok(new)
        })
    }

    /// Adds a bundle, all or nothing; returns the numbers of new megrams and new notes.
    pub fn import(self, bundle: MemoryBundle) -> WriteTicket<(usize, usize)> {
        self.0.row_sql(move |connection| {
            let (mut megrams, mut new_notes) = (0, 0);
            for megram in &bundle.megrams {
                megrams += insert(connection, megram)?;
            }
            for note in &bundle.notes {
                new_notes += notes::insert(connection, note)?;
            }
            Ok((megrams, new_notes))
        })
    }

    /// Writes a claim as a person confirmed it; returns 0 if it is no claim any more.
    pub fn confirm_claim(self, megram: &Megram) -> WriteTicket<usize> {
        let values = (megram.id.to_string(), megram.level.as_str(), megram.k);
        self.0.row_sql(move |connection| {
            let sql = "UPDATE megrams SET level = ?2, k = ?3 WHERE id = ?1 AND level = 'claim'";
            connection.prepare_cached(sql)?.execute(values)
        })
    }

    /// Records that megrams were given to a planner.
    pub fn recall(self, ids: Vec<Sha256Digest>, now: Moment) -> WriteTicket<()> {
        self.0.row_sql(move |connection| {
            let sql = "UPDATE megrams SET recalled = max(ifnull(recalled, ?2), ?2) WHERE id = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            for id in &ids {
                statement.execute((id.to_string(), MomentColumn(now)))?;
            }
            Ok(())
        })
    }

    /// Forgets megrams and notes, and erases from the log what memory does not have any more; returns the number of
    /// those it had. [`Store::scrub`] overwrites what is left in the files.
    pub fn forget(self, ids: Vec<Sha256Digest>) -> WriteTicket<usize> {
        self.0.job(move |writing| {
            let at = writing.writer.clock.now();
            let gone = row_log::change(writing, at, || {
                let [megrams, notes] = MEMORY.map(|table| delete(writing.connection, table, &ids));
                Ok(megrams? + notes?)
            })?;
            erase::erase(writing, at)?;
            Ok(gone)
        })
    }

    /// Runs the Dreamer in one transaction: concurrent writes come before or after it. Returns the
    /// result.
    pub fn dream(self, now: Moment) -> WriteTicket<DreamChanges> {
        self.0.row_sql(move |connection| {
            let dreamt = dream(&select(connection, &MegramSelection::All)?, now);
            let sql = "UPDATE megrams SET level = ?2, k = ?3 WHERE id = ?1";
            for id in &dreamt.demote {
                let mut statement = connection.prepare_cached(sql)?;
                statement.execute((id.to_string(), MegramLevel::Knowledge.as_str(), DEMOTED_K))?;
            }
            delete(connection, "megrams", &dreamt.forget)?;
            for rule in &dreamt.promote {
                insert(connection, rule)?;
            }
            Ok(dreamt)
        })
    }
}

impl MemoryTable<&StoreReader> {
    /// Returns the remembered megrams, oldest first.
    pub fn megrams(self, selection: &MegramSelection) -> Result<Vec<Megram>, StoreError> {
        self.0.fold_rows()?;
        self.0.query(|connection| select(connection, selection))
    }
}

/// Adds a megram unless it is known; one that counts replaces a claim of the same id, so no file takes its place.
fn insert(connection: &Connection, megram: &Megram) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO megrams
                   (id, level, created, recalled, space, entity, content, state, f, sigma, k)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
               ON CONFLICT (id) DO UPDATE SET
                   level = excluded.level, created = excluded.created, recalled = excluded.recalled,
                   space = excluded.space, entity = excluded.entity, content = excluded.content,
                   state = excluded.state, f = excluded.f, sigma = excluded.sigma, k = excluded.k
               WHERE level = 'claim' AND excluded.level <> 'claim'";
    connection.prepare_cached(sql)?.execute((
        megram.id.to_string(),
        megram.level.as_str(),
        MomentColumn(megram.created),
        megram.recalled.map(MomentColumn),
        &megram.tags.space,
        &megram.tags.entity,
        &megram.content,
        megram.state.as_str(),
        megram.f,
        megram.sigma,
        megram.k,
    ))
}

fn delete(connection: &Connection, table: &str, ids: &[Sha256Digest]) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?;
    let mut gone = 0;
    for id in ids {
        gone += statement.execute([id.to_string()])?;
    }
    Ok(gone)
}

fn select(connection: &Connection, selection: &MegramSelection) -> rusqlite::Result<Vec<Megram>> {
    match selection {
        MegramSelection::All => all(connection, "true", []),
        MegramSelection::Level(level) => all(connection, "level = ?1", [level.as_str()]),
        MegramSelection::Space(space) => all(connection, "space = ?1", [space]),
        MegramSelection::Cluster(MegramTags { space, entity }) => {
            all(connection, "space = ?1 AND entity = ?2", [space, entity])
        }
        // "g" sorts after every hexadecimal digit.
        MegramSelection::Id(start) => all(connection, "id >= ?1 AND id < ?1 || 'g'", [start]),
    }
}

fn all(connection: &Connection, only: &str, values: impl Params) -> rusqlite::Result<Vec<Megram>> {
    let sql = format!("SELECT * FROM megrams WHERE {only} ORDER BY created, id");
    query::all(connection, &sql, values, read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Megram> {
    Ok(Megram {
        id: row.word("id")?,
        level: row.word("level")?,
        created: row.moment("created")?,
        recalled: row.moment_if("recalled")?,
        tags: MegramTags { space: row.get("space")?, entity: row.get("entity")? },
        content: row.get("content")?,
        state: row.word("state")?,
        f: row.get("f")?,
        sigma: row.get("sigma")?,
        k: row.get("k")?,
    })
}
