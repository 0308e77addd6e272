//! What the auditor says of itself, and how.

use serde::{Deserialize, Serialize};

use crate::bus::Bound;
use crate::store::Process;

/// The first record: what was in the database before anybody watched.
pub(super) const BEGUN: &str = "begun";
/// An auditor began to watch.
pub(super) const OPENED: &str = "opened";
/// An auditor has ended, and has written all that it heard.
pub(super) const CLOSED: &str = "closed";
/// An auditor was found to have died.
pub(super) const FOUND_DEAD: &str = "found_dead";
/// An auditor was too slow for the bus.
pub(super) const LOST: &str = "lost";
/// Events that were read in the database were heard of on the bus, too.
pub(super) const CONFIRMED: &str = "confirmed";
/// The database had gone back: what was recorded of it is not there any more.
pub(super) const REWOUND: &str = "rewound";
/// The end of this log was gone.
pub(super) const CUT: &str = "cut";
/// The last line was half a line: a process died, or the disk was full, while it was written.
pub(super) const TORN: &str = "torn";
/// A backup was put in the place of the state.
pub(super) const RESTORED: &str = "restored";
/// A report on a window.
pub(super) const REPORT: &str = "report";

/// Of [`BEGUN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The last event that was there; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Bound>,
}

/// An auditor that watches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// The number of the record by which it opened.
    pub n: u64,
    /// Its process.
    pub process: Process,
}

/// Of [`OPENED`], [`CLOSED`] and [`FOUND_DEAD`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shift {
    /// Which auditor: the number of the record by which it opened.
    pub auditor: u64,
    /// Who watches from now on.
    pub open: Vec<Session>,
    /// The last event of the database that is in this log.
    pub seq: u64,
    /// The boot of the machine.
    pub boot: String,
    /// How many messages it lost, when it closes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
}

/// Of an event that was read in the database, beside its own summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Read {
    /// Who read it: the number of the record by which it opened.
    pub by: u64,
    /// Whether it was there before that auditor heard anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

/// Of [`CONFIRMED`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Confirmed {
    /// The events, by their numbers in the database.
    pub seqs: Vec<u64>,
}

/// Of [`LOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lost {
    /// Who: the number of the record by which it opened.
    pub auditor: u64,
    /// How many messages.
    pub messages: u64,
}

/// Of [`REWOUND`]: the last event that was recorded, and the last that was still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rewound {
    /// What was recorded.
    pub from: u64,
    /// What was there.
    pub to: u64,
}

/// Of [`CUT`]: how many records there had been, and how many there were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cut {
    /// How many were written.
    pub had: u64,
    /// How many were there.
    pub has: u64,
    /// Whether the machine was started anew in between: a loss of power can do this.
    pub rebooted: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
