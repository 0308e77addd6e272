//! The feedback to an attempt about the one before it: its diagnosis and the remedy, derived by rule, so that
//! nothing is judged twice.

use serde::{Deserialize, Serialize};

use crate::machine::checks::ReworkLoop;
use crate::machine::history::AttemptHistory;
use crate::machine::reason::truncate_reason;
use crate::machine::state::{self, TaskIx};
use crate::machine::task_id::TaskId;
use crate::machine::turn::Machine;
use crate::machine::verdict::CheckVerdict;
use wf_base::name::Name;
use wf_model::{CheckPhase, FailureClass};

/// The feedback to an attempt about the failed one before it. It follows from recorded facts alone,
/// so it is the same after a resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttemptFeedback {
    /// The task of these attempts.
    #[serde(flatten)]
    pub place: TaskId,
    /// The attempt that failed; 0: a result from the cache that failed verification.
    pub attempt: u32,
    /// The loop of `inspect` or `test` that the next attempt is; absent: none.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<ReworkLoop>,
    /// The failure class; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The problem, in one sentence.
    pub what_was_wrong: String,
    /// The remedy, in one sentence.
    pub what_to_do: String,
    /// The criteria that it failed, in their order; empty if it ended before it was judged.
    pub failed: Vec<FailedCheck>,
    /// The number of criteria that each attempt so far failed, oldest first.
    pub gaps: Vec<FailureCount>,
    /// The guidance of a planner for an agent; absent: none was given in this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The guidance of people who were asked since the agent was stuck; absent: none was given in this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_guidance: Option<String>,
}

/// A failed criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FailedCheck {
    /// Its name.
    pub criterion: Name,
    /// The phase of the criterion; absent: `verify`.
    #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
    pub phase: CheckPhase,
    /// The failure class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The expected result, in a few words.
    pub expected: String,
    /// The actual result, in a few words.
    pub found: String,
    /// The output of the check, at most 1,000 characters.
    pub evidence: String,
}

/// The distance of a judged attempt from success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FailureCount {
    /// The attempt; 0: a result from the cache.
    pub attempt: u32,
    /// The number of its failed criteria.
    pub failed: u32,
    /// The number of criteria checked: those of a later phase only if all before it passed.
    pub of: u32,
}

impl FailureCount {
    /// Counts one more criterion of an attempt in a trajectory.
    pub fn count(gaps: &mut Vec<Self>, attempt: u32, passed: bool) {
        if gaps.last().is_none_or(|gap| gap.attempt != attempt) {
            let (failed, of) = (0, 0);
            gaps.push(Self { attempt, failed, of });
        }
        if let Some(gap) = gaps.last_mut() {
            gap.of += 1;
            gap.failed += u32::from(!passed);
        }
    }
}

impl Machine {
    /// Returns the feedback to the next or current attempt of a task; `None` if it is the first.
    pub(in crate::machine) fn correction(&self, task: TaskIx) -> Option<Box<AttemptFeedback>> {
        let record = self.state.task_record(task)?;
        let tries = record.tries.as_deref()?;
        Some(Box::new(AttemptFeedback {
            place: state::task_id(&self.plan, task),
            attempt: tries.attempt,
            looped: tries.looped,
            failure_class: tries.failure_class,
            what_was_wrong: what_was_wrong(tries),
            what_to_do: what_to_do(tries),
            failed: tries.failed.clone(),
            gaps: tries.gaps.clone(),
            guidance: record.guidance.as_ref().and_then(|guidance| guidance.text.clone()),
            person_guidance: record.person_guidance.clone(),
        }))
    }
}

impl FailedCheck {
    pub(in crate::machine) fn mismatch(&self) -> String {
        mismatch(&self.expected, &self.found)
    }

    /// Describes the failure in one line, as a verdict is reported.
    pub(in crate::machine) fn describe(&self) -> String {
        match self.mismatch() {
            found if found.is_empty() => format!("check `{}` failed", self.criterion),
            found => format!("check `{}`: {found}", self.criterion),
        }
    }
}

impl From<&CheckVerdict> for FailedCheck {
    fn from(verdict: &CheckVerdict) -> Self {
        Self {
            criterion: verdict.name.clone(),
            phase: verdict.phase,
            failure_class: verdict.failure_class,
            expected: verdict.expected.clone(),
            found: verdict.found.clone(),
            evidence: verdict.evidence.clone(),
        }
    }
}

impl std::fmt::Display for FailureCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.failed, self.of)
    }
}

/// Describes an expected and an actual result; empty if there is neither.
pub(in crate::machine) fn mismatch(expected: &str, found: &str) -> String {
    match expected {
        "" => found.to_owned(),
        expected => format!("expected {expected}, found {found}"),
    }
}

/// The number of criteria named before the rest is only counted.
const MAX_NAMED_CRITERIA: usize = 5;

/// Describes what was wrong with the last attempt.
pub(in crate::machine) fn what_was_wrong(tries: &AttemptHistory) -> String {
    if let Some((gate, _)) = &tries.gate {
        return truncate_reason(format!("gate `{gate}` blocked it"));
    }
    if let Some(exit) = &tries.exit {
        return truncate_reason(exit.clone());
    }
    let findings: Vec<String> = tries.failed.iter().map(FailedCheck::describe).collect();
    let text = findings.join("; ");
    truncate_reason(match tries.attempt {
        0 => format!("the cached result failed its checks: {text}"),
        _ => text,
    })
}

/// Describes the remedy, as given by the first failed criterion.
pub(in crate::machine) fn what_to_do(tries: &AttemptHistory) -> String {
    if let Some((gate, todo)) = &tries.gate {
        return truncate_reason(match todo.as_str() {
            "" => format!("change the work so that gate `{gate}` accepts it"),
            todo => todo.to_owned(),
        });
    }
    let Some((first, rest)) = tries.failed.split_first() else {
        return after_exit(tries);
    };
    let name = &first.criterion;
    let found = match first.mismatch() {
        found if found.is_empty() => "it failed".to_owned(),
        found => found,
    };
    let todo = match first.failure_class {
        Some(FailureClass::Logical) => format!("make `{name}` pass: {found}"),
        Some(FailureClass::Environmental) => {
            format!(
                "keep the approach: make sure that everything `{name}` needs is available \
                ({found})"
            )
        }
        Some(FailureClass::Engine) => {
            format!("keep the work: `{name}` could not be evaluated, which shows nothing of it ({found})")
        }
        Some(FailureClass::Interrupted) | None => {
            format!("find out why `{name}` could not be evaluated: {found}")
        }
    };
    truncate_reason(match others(rest) {
        Some(others) => format!("{todo}; then {others}"),
        None => todo,
    })
}

/// Describes the remedy for work that did not exit successfully.
fn after_exit(tries: &AttemptHistory) -> String {
    let exit = tries.exit.as_deref().unwrap_or("unknown");
    truncate_reason(match tries.failure_class {
        Some(FailureClass::Environmental) => {
            format!("keep the approach: make sure that everything it needs is available ({exit})")
        }
        Some(FailureClass::Engine) => {
            format!("repeat the work: it was not found wrong, something it is served by failed ({exit})")
        }
        Some(FailureClass::Interrupted) => "repeat the work; parts of it may be done already".to_owned(),
        Some(FailureClass::Logical) | None => {
            format!("make the work succeed ({exit}); see its log")
        }
    })
}

fn others(rest: &[FailedCheck]) -> Option<String> {
    if rest.is_empty() {
        return None;
    }
    let names = rest.iter().take(MAX_NAMED_CRITERIA);
    let names: Vec<String> = names.map(|unmet| format!("`{}`", unmet.criterion)).collect();
    Some(match rest.len().saturating_sub(MAX_NAMED_CRITERIA) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    })
}
