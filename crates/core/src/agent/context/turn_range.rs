use std::fmt;

use serde::{Deserialize, Serialize};

/// Turns in a row, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnRange {
    /// The first one.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

impl TurnRange {
    /// Creates a range; `None` if there is no turn in it.
    pub(super) fn new(first: u32, last: u32) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// True if it has a turn.
    pub fn has(self, turn: u32) -> bool {
        (self.first..=self.last).contains(&turn)
    }

    /// Returns what is left without a turn.
    pub(super) fn without(self, turn: u32) -> impl Iterator<Item = Self> {
        let before = Self::new(self.first, self.last.min(turn.saturating_sub(1)));
        let after = Self::new(self.first.max(turn.saturating_add(1)), self.last);
        before.into_iter().chain(after)
    }
}

/// Formats as `3` or `5-7`.
impl fmt::Display for TurnRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(f, "{}", self.first);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}
