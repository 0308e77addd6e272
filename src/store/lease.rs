use std::fmt;
use std::time::Duration;

use rusqlite::Row;

use super::column::At;
use super::process::{Process, Seen, since_boot};
use crate::time::Moment;

/// How long a run stays with a process that gives no sign of life and whose death cannot be
/// seen.
pub const LEASE: Duration = Duration::from_secs(30);

/// The right to work on a run, as one process got it: with the number that it writes under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The token: one more than that of the owner before.
    pub token: u64,
    /// The process.
    pub pid: u32,
    /// When the process started, in ticks since the boot; zero where that is not known.
    pub start: i64,
    /// The boot of the machine; empty where that is not known.
    pub boot: String,
    /// The namespace that the process is numbered in; zero where that is not known.
    pub namespace: i64,
    /// The keeper that its step processes were given to; empty if none.
    pub keeper: String,
    /// The number of the run's last event when it was taken: those that follow, up to the
    /// `first` of the next lease, are this owner's.
    pub first: u64,
    /// When it was taken.
    pub since: Moment,
    /// What is left of it, as of the reading; zero if it has run out.
    pub left: Duration,
    /// When the run was given back.
    pub released: Option<Moment>,
    /// Whether the process could be looked for from here: it has not, in another container.
    pub near: bool,
    /// Whether somebody else may take the run.
    pub lapsed: bool,
    pub(super) store: i64,
}

/// The columns that [`read`] reads.
pub(super) const COLUMNS: &str =
    "token, pid, start, boot, ns, keeper, first, since, expires, released, store";

/// Reads a row, and looks for its process.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Lease> {
    let process = Process {
        pid: row.get(1)?,
        start: row.get(2)?,
        boot: row.get(3)?,
        ns: row.get(4)?,
    };
    let left = row.get::<_, i64>(8)?.saturating_sub(since_boot());
    let released: Option<At> = row.get(9)?;
    let seen = process.seen();
    Ok(Lease {
        token: row.get::<_, i64>(0)?.unsigned_abs(),
        pid: process.pid,
        start: process.start,
        boot: process.boot,
        namespace: process.ns,
        keeper: row.get(5)?,
        first: row.get::<_, i64>(6)?.unsigned_abs(),
        since: row.get::<_, At>(7)?.0,
        left: Duration::from_millis(u64::try_from(left).unwrap_or(0)),
        near: seen != Seen::Elsewhere,
        lapsed: may_be_taken(released.is_some(), seen, left),
        released: released.map(|at| at.0),
        store: row.get(10)?,
    })
}

/// Whether a run may be taken over: who gave it back or is dead has it no more; who cannot be
/// told to be dead has it until the lease ends, which a process that works puts off again and
/// again.
fn may_be_taken(released: bool, seen: Seen, left: i64) -> bool {
    released
        || match seen {
            Seen::OtherBoot | Seen::Gone => true,
            Seen::Lives | Seen::Elsewhere => left <= 0,
        }
}

/// Who holds it, since when, and for how long yet.
impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apart = if self.near {
            ""
        } else {
            " of another container"
        };
        let seconds = self.left.as_millis().div_ceil(1000);
        write!(
            f,
            "process {}{apart} since {}; its lease ends in {seconds} s",
            self.pid, self.since
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Seen, may_be_taken};

    #[test]
    fn a_run_is_taken_from_the_dead_at_once_and_from_others_when_the_lease_ends() {
        for (released, seen, left, may) in [
            (false, Seen::Lives, 1, false),
            (false, Seen::Lives, 0, true),
            (false, Seen::Lives, -1, true),
            (false, Seen::Elsewhere, 1, false),
            (false, Seen::Elsewhere, 0, true),
            (false, Seen::Gone, 30_000, true),
            (false, Seen::Gone, 0, true),
            (false, Seen::OtherBoot, i64::MAX, true),
            (true, Seen::Lives, 30_000, true),
            (true, Seen::Elsewhere, 30_000, true),
        ] {
            let found = may_be_taken(released, seen, left);
            assert_eq!(found, may, "{released} {seen:?} {left}");
        }
    }
}
