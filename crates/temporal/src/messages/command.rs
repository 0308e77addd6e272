//! The words between a driver and whoever waits for it.

use wf_base::{name::RunId, time::Moment};
use wf_core::machine::TimerKind;

use crate::{
    locks::queue::{LockMessage, LockNotice},
    messages::order::{OpenReport, RequestAnswer, WorkOrder},
};

/// A timer of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTimer {
    pub run: RunId,
    /// The timer of its machine; `None`: the time of the step whose attempt it is.
    pub timer: Option<TimerKind>,
}

/// A command for the waiting caller.
#[derive(Clone, Debug)]
pub enum DriverCommand {
    /// Have work done.
    Work {
        /// The number its end is reported with.
        key: u64,
        /// A name for people who look at the history.
        name: String,
        /// The task queue.
        queue: String,
        order: Box<WorkOrder>,
    },
    /// Tell a named lock of a task's wish.
    Tell {
        /// The number its end is reported with.
        key: u64,
        lock: String,
        message: LockMessage,
    },
    /// Wake the run at an instant.
    Wake {
        at: Moment,
        /// The timer going off then.
        timer: RunTimer,
    },
    /// Tell the run once of slow work under way.
    Grace { at: Moment },
    /// Tell the worker of some work that there is a wish about it.
    Stop { key: u64 },
}

/// An occurrence a run reacts to.
pub enum Occurrence {
    /// Work has ended.
    Reported { key: u64, report: Box<OpenReport> },
    /// Work was told to end before a worker began it.
    Unbegun { key: u64 },
    /// The worker of some work is lost.
    Lost {
        /// The number of the work.
        key: u64,
    },
    /// A lock was told of a task's wish.
    Told {
        /// The number of the message.
        key: u64,
    },
    /// A lock says something about a task.
    Lock(LockNotice),
    /// A timer went off.
    Woke(RunTimer),
    /// The grace period of a drained run is over, and work is still under way.
    GraceOver,
    /// Somebody wants the run to end.
    Cancel(String),
    /// An approver answered.
    Answered(RequestAnswer),
    /// Nothing of consequence.
    Nothing,
}
