use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, OptionalExtension};

use super::process::Process;
use crate::machine::Place;
use crate::name::RunId;
use crate::time::Moment;

/// Numbers the stores of this process.
static STORES: AtomicI64 = AtomicI64::new(1);

/// Who holds runs and named locks: one store of one process.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    process: Process,
    store: i64,
}

impl Holder {
    /// A holder for a store that is being opened.
    pub(super) fn new() -> Self {
        Self {
            process: Process::current(),
            store: STORES.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Takes a run, or names the living process that has it.
    pub(super) fn own(
        &self,
        connection: &Connection,
        run: &RunId,
        now: Moment,
    ) -> rusqlite::Result<Result<(), u32>> {
        let owner = connection
            .prepare_cached("SELECT pid, start, boot FROM owners WHERE run = ?1")?
            .query_row([run.as_str()], |row| process(row, 0))
            .optional()?;
        if let Some(owner) = owner
            && owner.is_alive()
        {
            return Ok(Err(owner.pid));
        }
        let me = &self.process;
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO owners (run, pid, start, boot, store, since)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((
                run.as_str(),
                me.pid,
                me.start,
                &me.boot,
                self.store,
                now.millis(),
            ))?;
        Ok(Ok(()))
    }

    /// Gives a run back.
    pub(super) fn disown(&self, connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
        let me = &self.process;
        connection
            .prepare_cached(
                "DELETE FROM owners
                 WHERE run = ?1 AND pid = ?2 AND start = ?3 AND boot = ?4 AND store = ?5",
            )?
            .execute((run.as_str(), me.pid, me.start, &me.boot, self.store))
            .map(drop)
    }

    /// Takes a lock if it is free, or its holder dead; says whether the place has it now.
    pub(super) fn lock(
        &self,
        connection: &Connection,
        lock: (&str, &RunId, &Place),
        now: Moment,
    ) -> rusqlite::Result<bool> {
        let (name, run, place) = (lock.0, lock.1.as_str(), lock.2.to_string());
        let found = connection
            .prepare_cached(
                "SELECT pid, start, boot, store, run, place FROM locks WHERE name = ?1",
            )?
            .query_row([name], |row| {
                let same = row.get::<_, i64>(3)? == self.store
                    && row.get_ref(4)?.as_str() == Ok(run)
                    && row.get_ref(5)?.as_str() == Ok(place.as_str());
                Ok((process(row, 0)?, same))
            })
            .optional()?;
        if let Some((holder, same)) = found
            && holder.is_alive()
        {
            return Ok(same && holder == self.process);
        }
        let me = &self.process;
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO locks (name, run, place, pid, start, boot, store, since)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute((
                name,
                run,
                place,
                me.pid,
                me.start,
                &me.boot,
                self.store,
                now.millis(),
            ))?;
        Ok(true)
    }

    /// Gives back all that this store holds.
    pub(super) fn release_all(&self, connection: &Connection) -> rusqlite::Result<()> {
        let me = &self.process;
        for table in ["owners", "locks"] {
            let mine =
                format!("FROM {table} WHERE pid = ?1 AND start = ?2 AND boot = ?3 AND store = ?4");
            let held = (me.pid, me.start, &me.boot, self.store);
            // Looking first keeps a store that holds nothing from writing.
            let count: u32 =
                connection.query_row(&format!("SELECT count(*) {mine}"), held, |row| row.get(0))?;
            if count > 0 {
                connection.execute(&format!("DELETE {mine}"), held)?;
            }
        }
        Ok(())
    }
}

/// Reads a process from three columns.
pub(super) fn process(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Process> {
    Ok(Process {
        pid: row.get(at)?,
        start: row.get(at + 1)?,
        boot: row.get(at + 2)?,
    })
}
