use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Thrash;
use crate::audit::Entry;
use crate::name::RunId;

/// After how many rounds in a row a controller is said to thrash (artoo v0.8, R6).
const ROUNDS: u32 = 2;

/// The directive that is to lead out of what does not change, as it is recorded.
const BREAKS: &str = "break_symmetry";

/// Rounds of a run, one after the other, each of which ordered `break_symmetry` and brought D no
/// lower than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Streak {
    /// The number of the first.
    pub first: u64,
    /// How many.
    pub times: u32,
    /// D of the last, in millionths.
    pub d_millionths: u64,
}

/// The last streak of each run that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Streaks(BTreeMap<RunId, Streak>);

impl Streaks {
    /// Whether no run has one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes an event of a run into account; gives the streak that it makes longer, if the
    /// controller thrashes.
    pub(super) fn see(&mut self, run: &RunId, entry: &Entry) -> Option<Thrash> {
        match entry.kind.as_str() {
            "round_closed" => {}
            "run_ended" => {
                self.0.remove(run);
                return None;
            }
            _ => return None,
        }
        let before = self.0.remove(run);
        if entry.word("directive") != Some(BREAKS) {
            return None;
        }
        let (number, d) = (entry.number("number")?, entry.number("d_millionths")?);
        let before = before.filter(|streak| {
            d >= streak.d_millionths && streak.first + u64::from(streak.times) == number
        });
        let streak = Streak {
            first: before.map_or(number, |streak| streak.first),
            times: before.map_or(1, |streak| streak.times.saturating_add(1)),
            d_millionths: d,
        };
        self.0.insert(run.clone(), streak);
        (streak.times >= ROUNDS).then(|| Thrash::GgsThrashing {
            run: run.clone(),
            first: streak.first,
            times: streak.times,
        })
    }
}

impl Thrash {
    /// Whether another tells of the same rounds, and of more of them.
    pub(super) fn begins(&self, other: &Self) -> bool {
        let start = |one: &Self| match one {
            Self::GgsThrashing { run, first, .. } => Some((run.clone(), *first)),
            Self::Attempts { .. } => None,
        };
        start(self).is_some() && start(self) == start(other)
    }
}
