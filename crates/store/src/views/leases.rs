//! The leases of runs, and what tasks hold or wait for.

use crate::{
    column::RowColumns,
    db::reader::StoreReader,
    error::StoreError,
    lease::{
        locks::{self, LockWait},
        permits::{self, PermitTask},
        run_lease::{self, RunLease},
    },
    views::view::RunOwner,
};
use wf_base::name::RunId;
use wf_core::machine::LockHolder;

/// The tables `run_leases`, `locks` and `permits`.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTable<S>(pub(crate) S);

impl LeaseTable<&StoreReader> {
    /// Returns the process working on a run, or did last; `None` once it released the run. That of a nested run is the
    /// process of the outermost one.
    pub fn owner(self, run: &RunId) -> Result<Option<RunOwner>, StoreError> {
        let newest = self.0.query(|connection| {
            let outermost = run_lease::root(connection, run.as_str())?;
            run_lease::newest(connection, &outermost)
        })?;
        let held = newest.filter(|lease| lease.released.is_none());
        Ok(held.map(|lease| RunOwner { pid: lease.pid, alive: !lease.may_be_taken }))
    }

    /// Returns all leases of a run, in order; the last one is current, or was the latest. A nested
    /// run has none of its own.
    pub fn of_run(self, run: &RunId) -> Result<Vec<RunLease>, StoreError> {
        let sql = format!("SELECT {} FROM run_leases WHERE run = ?1 ORDER BY token", run_lease::COLUMNS);
        self.0.all(&sql, [run.as_str()], run_lease::read)
    }

    /// Returns the runs owned, or may be, with their leases.
    pub fn held(self) -> Result<Vec<(RunId, RunLease)>, StoreError> {
        let sql = format!(
            "SELECT {}, run FROM run_leases AS o WHERE released IS NULL
             AND token = (SELECT max(token) FROM run_leases WHERE run = o.run) ORDER BY acquired_at",
            run_lease::COLUMNS
        );
        let mut all = self.0.all(&sql, [], |row| {
            let run = row.run("run")?;
            Ok((run, run_lease::read(row)?))
        })?;
        all.retain(|(_, lease)| !lease.may_be_taken);
        Ok(all)
    }

    /// True if a run that has not ended was given to a supervisor.
    pub fn needs_keeper(self, keeper: &str) -> Result<bool, StoreError> {
        self.0.fold_all()?;
        let sql = "SELECT 1 FROM run_leases JOIN runs ON runs.id = run_leases.run
                   WHERE supervisor = ?1 AND ended IS NULL LIMIT 1";
        let found: Vec<i64> = self.0.all(sql, [keeper], |row| row.get(0))?;
        Ok(!found.is_empty())
    }

    /// Returns the locks whose holders are dead.
    pub fn stale_locks(self) -> Result<Vec<LockHolder>, StoreError> {
        self.0.query(locks::stale)
    }

    /// Returns the tasks of living processes waiting for a lock, by time.
    pub fn lock_waits(self) -> Result<Vec<LockWait>, StoreError> {
        self.0.query(locks::waits)
    }

    /// Returns the tasks of living processes with a permit, and those waiting for one, each by time.
    pub fn permit_tasks(self) -> Result<(Vec<PermitTask>, Vec<PermitTask>), StoreError> {
        self.0.query(permits::tasks)
    }
}
