//! The port through which a driver shows a run: its durable events, its output, and remarks.

use crate::{
    machine::{Attempt, Event, LockHolder, TaskId},
    permit::ParallelLimit,
};
use wf_base::name::{PlanId, RunId};

/// A run, as it is shown to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRef {
    pub id: RunId,
    pub plan: PlanId,
    /// The tasks above it, outermost first, if it is nested: `["build", "docs[2]"]`.
    pub path: Vec<String>,
}

impl RunRef {
    /// Returns the name under which an agent dispatched it.
    pub fn dispatch(&self) -> Option<&str> {
        Some(self.path.last()?.rsplit_once('/')?.1)
    }
}

/// The stream that output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The output of attempts an observer wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputInterest {
    #[default]
    Nothing,
    /// The last lines, once an attempt has ended that may have failed: they are read from its log,
    /// and its output goes from the supervisor to the disk and no further.
    Ends,
    /// Everything, as it comes.
    Everything,
}

/// A remark on a task that is worth a line and is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskRemark {
    /// A lock it needs is held elsewhere, so it waits.
    LockHeld(LockHolder),
    /// It waits to execute: a limit of the workspace keeps it back, with this value, or others are before it.
    PermitAwaited(Option<(ParallelLimit, u32)>),
    /// The cache could not store its result, for this reason.
    NotStored(String),
}

/// An observer of a run: the progress view, the plain lines, the JSON stream. Called from one
/// thread, in order; an event is shown only after it is durable.
pub trait RunObserver {
    /// Shows an event that became durable. `nested` runs report through the same observer.
    fn event(&mut self, run: &RunRef, event: &Event);

    /// Shows an event from before a resume: it is not new, but counts.
    fn replayed(&mut self, run: &RunRef, event: &Event) {
        let _ = (run, event);
    }

    /// Shows output of an attempt; secrets are masked already. Cut at line ends if the attempt
    /// writes lines.
    fn output(&mut self, run: &RunRef, attempt: &Attempt, stream: OutputStream, bytes: &[u8]);

    /// Shows a remark that is no event.
    fn remark(&mut self, run: &RunRef, task_id: &TaskId, remark: &TaskRemark) {
        let _ = (run, task_id, remark);
    }

    /// Reports the passage of time, to redraw a live view. Only called if [`RunObserver::wants_ticks`].
    fn tick(&mut self) {}

    /// Returns the error by which a report was lost, if one was. Asked once, at the end.
    fn write_error(&mut self) -> Option<std::io::Error> {
        None
    }

    /// Returns the output that [`RunObserver::output`] should be called with.
    fn wants_output(&self) -> OutputInterest {
        OutputInterest::Nothing
    }

    /// True if [`RunObserver::tick`] should be called, several times a second.
    fn wants_ticks(&self) -> bool {
        false
    }
}
