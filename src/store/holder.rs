use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::Connection;

use super::process::Process;
use crate::time::Moment;

/// Numbers the stores of this process.
static STORES: AtomicI64 = AtomicI64::new(1);

/// Who holds runs and named locks: one store of one process.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    /// The process.
    pub process: Process,
    /// Which of its stores.
    pub store: i64,
}

impl Holder {
    /// A holder for a store that is being opened.
    pub(super) fn new() -> Self {
        Self {
            process: Process::current(),
            store: STORES.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Gives back all that this store holds.
    pub(super) fn release_all(&self, connection: &Connection, now: Moment) -> rusqlite::Result<()> {
        let me = &self.process;
        let mine = "pid = ?1 AND start = ?2 AND boot = ?3 AND ns = ?4 AND store = ?5";
        let held = (me.pid, me.start, &me.boot, me.ns, self.store);
        // Looking first keeps a store that holds nothing from writing.
        let count = |sql: &str| connection.query_row(sql, held, |row| row.get::<_, u32>(0));
        let runs = format!("FROM owners WHERE released IS NULL AND {mine}");
        if count(&format!("SELECT count(*) {runs}"))? > 0 {
            let release =
                format!("UPDATE owners SET released = ?6 WHERE released IS NULL AND {mine}");
            let now = now.millis();
            connection.execute(&release, (held.0, held.1, held.2, held.3, held.4, now))?;
        }
        let locks = format!("FROM locks WHERE {mine}");
        if count(&format!("SELECT count(*) {locks}"))? > 0 {
            connection.execute(&format!("DELETE {locks}"), held)?;
        }
        Ok(())
    }
}
