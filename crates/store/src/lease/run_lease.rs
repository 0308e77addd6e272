use std::fmt;
use std::time::Duration;

use rusqlite::Row;

use crate::column::MomentColumn;
use crate::lease::process::{ProcessIdentity, ProcessLiveness, since_boot};
use wf_base::time::Moment;

/// The time for which a run stays with a process that shows no sign of life and cannot be seen to
/// be dead.
pub const LEASE: Duration = Duration::from_secs(30);

/// The right of one process to work on a run, with the number that it writes under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLease {
    /// The token: one more than that of the previous owner.
    pub token: u64,
    /// The process.
    pub pid: u32,
    /// The start of the process, in ticks since the boot; zero if unknown.
    pub start_ticks: i64,
    /// The boot of the machine; empty if unknown.
    pub boot: String,
    /// The namespace of the process id; zero if unknown.
    pub namespace: i64,
    /// The supervisor of its step processes; empty if none.
    pub supervisor: String,
    /// The number of the run's last event when it was taken: the events that follow, up to the
    /// `first` of the next lease, are this owner's.
    pub first_event: u64,
    /// The time at which it was taken.
    pub acquired_at: Moment,
    /// The remaining time when it was read; zero if it has run out.
    pub remaining: Duration,
    /// The time at which the run was released.
    pub released: Option<Moment>,
    /// True if the process can be looked up from here; false if it runs in another container.
    pub is_local: bool,
    /// True if another process may take the run.
    pub may_be_taken: bool,
    pub(crate) store: i64,
}

/// The columns that [`read`] reads.
pub(crate) const COLUMNS: &str = "token, pid, start_ticks, boot_id, pid_ns, supervisor, first_event, acquired_at, expires, released, store";

/// Reads a row, and looks up its process.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<RunLease> {
    let process =
        ProcessIdentity { pid: row.get(1)?, start: row.get(2)?, boot: row.get(3)?, ns: row.get(4)? };
    let left = row.get::<_, i64>(8)?.saturating_sub(since_boot());
    let released: Option<MomentColumn> = row.get(9)?;
    let seen = process.liveness();
    Ok(RunLease {
        token: row.get::<_, i64>(0)?.unsigned_abs(),
        pid: process.pid,
        start_ticks: process.start,
        boot: process.boot,
        namespace: process.ns,
        supervisor: row.get(5)?,
        first_event: row.get::<_, i64>(6)?.unsigned_abs(),
        acquired_at: row.get::<_, MomentColumn>(7)?.0,
        remaining: Duration::from_millis(u64::try_from(left).unwrap_or(0)),
        is_local: seen != ProcessLiveness::OtherNamespace,
        may_be_taken: may_be_taken(released.is_some(), seen, left),
        released: released.map(|at| at.0),
        store: row.get(10)?,
    })
}

/// True if a run may be taken over: an owner that released it or is dead has lost it; one whose
/// death cannot be seen has it until the lease ends, which a working process keeps renewing.
fn may_be_taken(released: bool, seen: ProcessLiveness, left: i64) -> bool {
    released
        || match seen {
            ProcessLiveness::OtherBoot | ProcessLiveness::Exited => true,
            ProcessLiveness::Alive | ProcessLiveness::OtherNamespace => left <= 0,
        }
}

/// Formats the holder, the time it was taken, and the remaining time.
impl fmt::Display for RunLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apart = if self.is_local { "" } else { " in another container" };
        let seconds = self.remaining.as_millis().div_ceil(1000);
        write!(f, "process {}{apart} since {}; lease expires in {seconds} s", self.pid, self.acquired_at)
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessLiveness, may_be_taken};

    #[test]
    fn a_run_is_taken_from_the_dead_at_once_and_from_others_when_the_lease_ends() {
        for (released, seen, left, may) in [
            (false, ProcessLiveness::Alive, 1, false),
            (false, ProcessLiveness::Alive, 0, true),
            (false, ProcessLiveness::Alive, -1, true),
            (false, ProcessLiveness::OtherNamespace, 1, false),
            (false, ProcessLiveness::OtherNamespace, 0, true),
            (false, ProcessLiveness::Exited, 30_000, true),
            (false, ProcessLiveness::Exited, 0, true),
            (false, ProcessLiveness::OtherBoot, i64::MAX, true),
            (true, ProcessLiveness::Alive, 30_000, true),
            (true, ProcessLiveness::OtherNamespace, 30_000, true),
        ] {
            let found = may_be_taken(released, seen, left);
            assert_eq!(found, may, "{released} {seen:?} {left}");
        }
    }
}
