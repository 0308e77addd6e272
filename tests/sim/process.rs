use wf_core::machine::WorkExit;

use super::fates::Fate;

/// A process that was started.
#[derive(Clone, Debug)]
pub struct Process {
    pub state: Life,
    pub fate: Fate,
    pub ends: i64,
}

/// What became of a process.
#[derive(Clone, Debug, PartialEq)]
pub enum Life {
    Alive,
    /// It ended, and how is known.
    Ended(WorkExit),
    /// It ended with its engine, and nobody knows how.
    Lost,
}
