use serde::{Deserialize, Serialize};

use super::advice;
use super::state::Spot;
use super::{Loop, Machine, Place, Verdict};
use crate::model::{CheckPhase, Class};
use crate::name::Name;

/// What an attempt is told about the one before it, which failed. It follows from what is
/// recorded alone, so it is the same after a resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Correction {
    /// The place whose attempts these are.
    #[serde(flatten)]
    pub place: Place,
    /// The attempt that failed; 0: a result from the cache, which a check refuted.
    pub attempt: u32,
    /// Which loop of `inspect` or `test` the next attempt is; absent: it is none.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<Loop>,
    /// Whose fault that was; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What was wrong, in one sentence.
    pub what_was_wrong: String,
    /// What would make it right, in one sentence.
    pub what_to_do: String,
    /// The criteria that it failed, in their order; empty if it ended before it was judged.
    pub failed: Vec<Unmet>,
    /// How many criteria each attempt so far failed, oldest first.
    pub gaps: Vec<Gap>,
}

/// A criterion that did not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Unmet {
    /// Its name.
    pub criterion: Name,
    /// What it is asked for; absent: `verify`.
    #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
    pub phase: CheckPhase,
    /// Whose fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What was expected, in a few words.
    pub expected: String,
    /// What was found, in a few words.
    pub found: String,
    /// What the check printed, at most [`WHY_LIMIT`](super::WHY_LIMIT) characters.
    pub evidence: String,
}

/// How far a judged attempt was from done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gap {
    /// The attempt; 0: a result from the cache.
    pub attempt: u32,
    /// How many of its criteria failed.
    pub failed: u32,
    /// How many criteria were asked: those of a later phase only if all before it held.
    pub of: u32,
}

impl Gap {
    /// Counts one more criterion of an attempt in a trajectory.
    pub fn count(gaps: &mut Vec<Self>, attempt: u32, passed: bool) {
        if gaps.last().is_none_or(|gap| gap.attempt != attempt) {
            let (failed, of) = (0, 0);
            gaps.push(Self {
                attempt,
                failed,
                of,
            });
        }
        if let Some(gap) = gaps.last_mut() {
            gap.of += 1;
            gap.failed += u32::from(!passed);
        }
    }
}

impl Machine {
    /// What the next attempt of a place, or the one under way, is told; `None` if it is the first.
    pub(super) fn correction(&self, spot: Spot) -> Option<Box<Correction>> {
        let tries = self.state.place(spot)?.tries.as_deref()?;
        Some(Box::new(Correction {
            place: super::state::place(&self.plan, spot),
            attempt: tries.attempt,
            looped: tries.looped,
            class: tries.class,
            what_was_wrong: advice::what_was_wrong(tries),
            what_to_do: advice::what_to_do(tries),
            failed: tries.failed.clone(),
            gaps: tries.gaps.clone(),
        }))
    }
}

impl From<&Verdict> for Unmet {
    fn from(verdict: &Verdict) -> Self {
        Self {
            criterion: verdict.name.clone(),
            phase: verdict.phase,
            class: verdict.class,
            expected: verdict.expected.clone(),
            found: verdict.found.clone(),
            evidence: verdict.evidence.clone(),
        }
    }
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.failed, self.of)
    }
}
