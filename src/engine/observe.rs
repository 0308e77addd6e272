use crate::machine::{Attempt, Event, Place};
use crate::name::{PlanId, RunId};

/// A run as a person follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRef {
    /// Its id.
    pub id: RunId,
    /// Its plan.
    pub plan: PlanId,
    /// The places above it, outermost first, where it is nested: `["build", "docs[2]"]`.
    pub path: Vec<String>,
}

/// Where output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// How much an observer wants to see of what attempts print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// Nothing.
    #[default]
    Nothing,
    /// The last lines, once an attempt has ended that may have failed: they are read from its log,
    /// and what it prints goes from the keeper to the disk and no further.
    Ends,
    /// Everything, as it comes.
    Everything,
}

/// Something about a place that is worth a line and is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Somebody else holds the lock of this name, so it waits.
    LockHeld(String),
    /// The cache could not store its result, for this reason.
    NotStored(String),
}

/// Follows a run while it goes on: the progress view, the plain lines, the JSON stream.
/// Called from one thread, in order; an event is shown only after it is durable.
pub trait Observer {
    /// An event became durable. `nested` runs report through the same observer.
    fn event(&mut self, run: &RunRef, event: &Event);

    /// An event of before, when a run is gone on with: it is no news, and counts.
    fn behind(&mut self, run: &RunRef, event: &Event) {
        let _ = (run, event);
    }

    /// An attempt printed something; secrets are masked already. Cut at line ends where the
    /// attempt writes lines.
    fn output(&mut self, run: &RunRef, attempt: &Attempt, stream: Stream, bytes: &[u8]);

    /// Something came up that is no event.
    fn remark(&mut self, run: &RunRef, place: &Place, remark: &Remark) {
        let _ = (run, place, remark);
    }

    /// Time passed; a live view may be drawn again. Only called if [`Observer::wants_ticks`].
    fn tick(&mut self) {}

    /// Why something that it should have told is lost, if it is. Asked once, at the end.
    fn lost(&mut self) -> Option<std::io::Error> {
        None
    }

    /// With what [`Observer::output`] should be called.
    fn wants_output(&self) -> Interest {
        Interest::Nothing
    }

    /// Whether [`Observer::tick`] should be called, some times a second.
    fn wants_ticks(&self) -> bool {
        false
    }
}
