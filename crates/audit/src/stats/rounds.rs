use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ThrashPattern;
use crate::records::record::AuditEntry;
use wf_base::name::RunId;

/// The number of rounds in a row after which a controller thrashes (artoo v0.8, R6).
const ROUNDS: u32 = 2;

/// The directive that is to break a deadlock, as it is recorded.
const BREAKS: &str = "break_symmetry";

/// Consecutive rounds of a run, each of which ordered `break_symmetry` and brought D no lower than
/// the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RoundStreak {
    /// The number of the first round.
    pub first: u64,
    /// The number of rounds.
    pub times: u32,
    /// The D of the last round, in millionths.
    pub d_millionths: u64,
}

/// The last streak of each live run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct RoundStreaks(BTreeMap<RunId, RoundStreak>);

impl RoundStreaks {
    /// True if no run has a streak.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an event of a run; returns the streak it extends, if the controller thrashes.
    pub(super) fn add_event(&mut self, run: &RunId, entry: &AuditEntry) -> Option<ThrashPattern> {
        match entry.kind.as_str() {
            "round_completed" => {}
            "run_ended" => {
                self.0.remove(run);
                return None;
            }
            _ => return None,
        }
        let before = self.0.remove(run);
        if entry.summary_text("directive") != Some(BREAKS) {
            return None;
        }
        let (number, d) = (entry.summary_number("round")?, entry.summary_number("d_millionths")?);
        let before = before
            .filter(|streak| d >= streak.d_millionths && streak.first + u64::from(streak.times) == number);
        let streak = RoundStreak {
            first: before.map_or(number, |streak| streak.first),
            times: before.map_or(1, |streak| streak.times.saturating_add(1)),
            d_millionths: d,
        };
        self.0.insert(run.clone(), streak);
        (streak.times >= ROUNDS).then(|| ThrashPattern::GgsThrashing {
            run: run.clone(),
            first: streak.first,
            times: streak.times,
        })
    }
}

impl ThrashPattern {
    /// True if another describes the same rounds, and more of them.
    pub(super) fn is_extended_by(&self, other: &Self) -> bool {
        let start = |one: &Self| match one {
            Self::GgsThrashing { run, first, .. } => Some((run.clone(), *first)),
            Self::Attempts { .. } => None,
        };
        start(self).is_some() && start(self) == start(other)
    }
}
