use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::stats::Unseen;
use crate::time::Moment;

/// What came since the last report, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Since {
    /// Where the line of that report begins, in bytes, or one before it.
    pub from: u64,
    /// What the records before that line leave to be judged.
    pub unseen: Unseen,
    /// When the first and the last of what came since happened; it may be too wide.
    span: Option<(Moment, Moment)>,
}

impl Since {
    /// As of a report, or of the beginning of what can be read.
    pub(super) fn new(from: u64, unseen: Unseen) -> Self {
        let span = None;
        Self { from, unseen, span }
    }

    /// Takes into account that something happened.
    pub(super) fn widen(&mut self, at: Moment) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// Whether it may span so much activity.
    pub(super) fn spans(&self, length: Duration) -> bool {
        self.span
            .is_some_and(|(first, last)| last.since(first) >= length)
    }
}
