use serde::{Deserialize, Serialize};

use super::pool::Seat;
use crate::exec::attempt::{Gone, Job};
use crate::exec::probe::Probe;
use crate::exec::sandbox::Guard;
use crate::exec::{Ends, Stop};
use crate::machine::{Attempt, Exit};
use crate::name::RunId;

/// An attempt of some run, as a keeper knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Task {
    /// The run.
    pub run: RunId,
    /// The attempt.
    pub attempt: Attempt,
}

/// What an engine asks a keeper for: the first message of a connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// To do the work of an attempt. It goes on if the engine dies.
    Run {
        /// Which.
        task: Task,
        /// What.
        job: Box<Job>,
        /// Whether to show what it prints.
        show: bool,
        /// How it takes up room, if it is counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<Seat>,
    },
    /// To run something that ends with the connection.
    Probe(Box<Probe>),
    /// How an attempt ends that an engine asked for before.
    Follow {
        /// Which.
        task: Task,
        /// Whether to show what it prints.
        show: bool,
    },
    /// To end what steps left running, to forget everything and to end. The connection stays open
    /// until then.
    Conclude,
    /// To begin nothing of a run any more.
    Seal {
        /// Which.
        run: RunId,
    },
}

/// What an engine says later of what it asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// It is to end.
    End(Stop),
    /// It is not to begin, if it is staged and has not begun; else it goes on.
    TakeBack,
}

/// What a keeper answers: the last message of a connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// The work of an attempt ended.
    Gone(Box<Gone>),
    /// A probe ended; what it printed was sent before.
    Probed {
        /// How.
        exit: Exit,
        /// Whether its standard output went on.
        truncated: bool,
        /// What its sandbox enforced; `None`: it had none.
        guards: Option<Vec<Guard>>,
        /// The end of what it printed.
        ends: Ends,
    },
    /// The keeper does nothing for such an attempt.
    Unknown,
    /// The run is sealed.
    Sealed,
    /// An attempt that was staged does not begin.
    Unstaged,
}
