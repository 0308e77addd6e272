//! Who holds a named lock: the rows of the table `locks`.

use rusqlite::{Connection, OptionalExtension, Row};

use super::holder::Holder;
use super::owners;
use super::process::{Process, Seen};
use crate::machine::Place;
use crate::name::RunId;
use crate::time::Moment;

/// What came of asking for a named lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taking {
    /// Somebody else holds it.
    Held,
    /// The place that asked has it.
    Taken,
    /// The place that asked has it now. Whoever had it is dead, and may have left something
    /// running.
    TakenOver {
        /// The run that had it.
        run: RunId,
        /// The place that had it, as shown: `step[item]`.
        place: String,
    },
}

/// What is asked for, and for whom.
pub(super) struct Wish<'a> {
    pub name: &'a str,
    pub run: &'a RunId,
    pub place: &'a Place,
    pub now: Moment,
}

/// A row.
struct Found {
    process: Process,
    store: i64,
    run: String,
    place: String,
}

impl Found {
    /// Whether its holder may still be at work. One that cannot be looked for is, while the lease
    /// of its run lasts.
    fn holds(&self, connection: &Connection) -> rusqlite::Result<bool> {
        Ok(match self.process.seen() {
            Seen::Lives => true,
            Seen::Gone | Seen::OtherBoot => false,
            Seen::Elsewhere => {
                let root = owners::root(connection, &self.run)?;
                owners::newest(connection, &root)?.is_some_and(|lease| !lease.lapsed)
            }
        })
    }
}

/// Takes a lock if it is free, or its holder dead.
pub(super) fn take(
    connection: &Connection,
    holder: &Holder,
    wish: &Wish<'_>,
) -> rusqlite::Result<Taking> {
    let found = connection
        .prepare_cached(
            "SELECT pid, start, boot, ns, store, run, place FROM locks WHERE name = ?1",
        )?
        .query_row([wish.name], read)
        .optional()?;
    let place = wish.place.to_string();
    if let Some(found) = &found
        && found.holds(connection)?
    {
        let same = found.run == wish.run.as_str() && found.place == place;
        let mine = found.process == holder.process && found.store == holder.store;
        return Ok(if same && mine {
            Taking::Taken
        } else {
            Taking::Held
        });
    }
    let me = &holder.process;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO locks (name, run, place, pid, start, boot, ns, store, since)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            wish.name,
            wish.run.as_str(),
            place,
            me.pid,
            me.start,
            &me.boot,
            me.ns,
            holder.store,
            wish.now.millis(),
        ))?;
    Ok(found.map_or(Taking::Taken, |dead| Taking::TakenOver {
        run: RunId::from_stored(dead.run),
        place: dead.place,
    }))
}

/// Gives a lock back, if a place of this holder has it.
pub(super) fn give_back(
    connection: &Connection,
    holder: &Holder,
    lock: &(String, String, String),
) -> rusqlite::Result<()> {
    let me = &holder.process;
    connection
        .prepare_cached(
            "DELETE FROM locks WHERE name = ?1 AND run = ?2 AND place = ?3
             AND pid = ?4 AND start = ?5 AND boot = ?6 AND ns = ?7 AND store = ?8",
        )?
        .execute((
            &lock.0,
            &lock.1,
            &lock.2,
            me.pid,
            me.start,
            &me.boot,
            me.ns,
            holder.store,
        ))
        .map(drop)
}

/// Gives every lock of a run and of what is nested in it back, whoever holds it: for a run that
/// was taken over.
pub(super) fn release(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "WITH RECURSIVE below (id) AS
                 (SELECT ?1 UNION SELECT runs.id FROM runs JOIN below ON runs.parent = below.id)
             DELETE FROM locks WHERE run IN (SELECT id FROM below)",
        )?
        .execute([run.as_str()])
        .map(drop)
}

/// The locks whose holders are dead: name, run and place.
pub(super) fn stale(connection: &Connection) -> rusqlite::Result<Vec<(String, RunId, String)>> {
    let all: Vec<(Found, String)> = connection
        .prepare("SELECT pid, start, boot, ns, store, run, place, name FROM locks ORDER BY name")?
        .query_map([], |row| Ok((read(row)?, row.get(7)?)))?
        .collect::<Result<_, _>>()?;
    let mut stale = Vec::new();
    for (found, name) in all {
        if !found.holds(connection)? {
            stale.push((name, RunId::from_stored(found.run), found.place));
        }
    }
    Ok(stale)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found {
        process: Process {
            pid: row.get(0)?,
            start: row.get(1)?,
            boot: row.get(2)?,
            ns: row.get(3)?,
        },
        store: row.get(4)?,
        run: row.get(5)?,
        place: row.get(6)?,
    })
}
