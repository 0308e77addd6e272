use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::records::unseen::UnconfirmedEvents;
use wf_base::time::Moment;

/// The part of the log since the last report, and its position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnreportedRange {
    /// The offset of that report's line, in bytes, or that of an earlier line.
    pub from: u64,
    /// The state that the records before that line leave to be judged.
    pub unseen: UnconfirmedEvents,
    /// The times of the first and the last record since; it may be too wide.
    span: Option<(Moment, Moment)>,
}

impl UnreportedRange {
    /// Starts at a report, or at the beginning of the readable part.
    pub(crate) fn new(from: u64, unseen: UnconfirmedEvents) -> Self {
        let span = None;
        Self { from, unseen, span }
    }

    /// Widens the span by the time of a record.
    pub(crate) fn extend_span(&mut self, at: Moment) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// True if it may span the given activity.
    pub(crate) fn may_span(&self, length: Duration) -> bool {
        self.span.is_some_and(|(first, last)| last.since(first) >= length)
    }
}
