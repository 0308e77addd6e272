use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::Connection;

use crate::lease::process::ProcessIdentity;
use wf_base::{name::RunId, time::Moment};

/// The number of the next store of this process.
static STORES: AtomicI64 = AtomicI64::new(1);

/// The holder of runs, locks and permits: one store of one process.
#[derive(Clone, Debug)]
pub(crate) struct LeaseHolder {
    pub process: ProcessIdentity,
    /// The number of the store in the process.
    pub store: i64,
}

impl LeaseHolder {
    /// Returns the holder for a store being opened.
    pub(crate) fn new() -> Self {
        Self { process: ProcessIdentity::current(), store: STORES.fetch_add(1, Ordering::Relaxed) }
    }

    /// Deletes the rows of a task of this holder from a table of what tasks have or wait for.
    pub(crate) fn delete_task(
        &self,
        connection: &Connection,
        table: &'static str,
        run: &RunId,
        place: &str,
    ) -> rusqlite::Result<()> {
        let me = &self.process;
        connection
            .prepare_cached(&format!(
                "DELETE FROM {table} WHERE run = ?1 AND task = ?2
                 AND pid = ?3 AND start_ticks = ?4 AND boot_id = ?5 AND pid_ns = ?6 AND store = ?7"
            ))?
            .execute((run.as_str(), place, me.pid, me.start, &me.boot, me.ns, self.store))
            .map(drop)
    }

    /// Releases all this store holds. Waiting tasks keep their turns until their runs are resumed or end.
    pub(crate) fn release_all(&self, connection: &Connection, now: Moment) -> rusqlite::Result<()> {
        let me = &self.process;
        let mine = "pid = ?1 AND start_ticks = ?2 AND boot_id = ?3 AND pid_ns = ?4 AND store = ?5";
        let held = (me.pid, me.start, &me.boot, me.ns, self.store);
        // Checking first keeps a store that holds nothing from writing.
        let count = |sql: &str| connection.query_row(sql, held, |row| row.get::<_, u32>(0));
        let runs = format!("FROM run_leases WHERE released IS NULL AND {mine}");
        if count(&format!("SELECT count(*) {runs}"))? > 0 {
            let release = format!("UPDATE run_leases SET released = ?6 WHERE released IS NULL AND {mine}");
            let now = now.millis();
            connection.execute(&release, (held.0, held.1, held.2, held.3, held.4, now))?;
        }
        let [locks, permits] = ["locks", "permits"].map(|table| format!("FROM {table} WHERE {mine}"));
        if count(&format!("SELECT (SELECT count(*) {locks}) + (SELECT count(*) {permits})"))? > 0 {
            for table in ["locks", "permits"] {
                connection.execute(
                    &format!("DELETE FROM {table} WHERE acquired_at IS NOT NULL AND {mine}"),
                    held,
                )?;
                connection.execute(&format!("UPDATE {table} SET pid = 0 WHERE {mine}"), held)?;
            }
        }
        Ok(())
    }
}
