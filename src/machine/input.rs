use serde::{Deserialize, Serialize};

use super::{
    Advised, Approved, Attempt, Baseline, Exit, Fact, GatePoint, Given, Guard, IntentAdvice, Place,
    Stale, Standing, Timer, Usage,
};
use crate::digest::Digest;
use crate::gate::Gated;
use crate::model::{CheckPhase, Class, Mode, Object};
use crate::name::{Name, RunId};
use crate::time::Moment;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// When.
    pub at: Moment,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
}

/// What can happen to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Happening {
    /// The run is to begin. `kept` are results taken over from an earlier run, `left` is what
    /// somebody chose not to run, `baseline` the workspace as it is.
    Begin {
        /// Results taken over, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<Kept>,
        /// What is left out, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<Left>,
        /// Results that are not taken over, since they are not what they were.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<Dropped>,
        /// The workspace as it is, if something judges the work in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline: Option<Baseline>,
        /// Who approved it, and what.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<Box<Approved>>,
        /// What memory says about how its steps are done.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        advice: Vec<Advised>,
        /// What memory says about its intent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intent: Option<IntentAdvice>,
    },
    /// An attempt that was staged began. Answers [`Effect::Stage`](super::Effect::Stage).
    Began {
        /// Which.
        attempt: Attempt,
    },
    /// An attempt that was staged has not begun, and does not. Answers the same.
    Unstaged {
        /// Which.
        attempt: Attempt,
    },
    /// The work of an attempt ended. Answers [`Effect::Start`](super::Effect::Start).
    Ended(Ended),
    /// All checks of a phase have been run. Answers [`Effect::Check`](super::Effect::Check).
    Judged {
        /// The attempt; `None`: the plan's own criteria.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// Which phase; absent: `verify`.
        #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
        phase: CheckPhase,
        /// One verdict a criterion, in their order.
        verdicts: Vec<Verdict>,
        /// The files of the attempt's evidence, as they were before and after the checks; of the
        /// plan's own criteria there is none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<Artifact>,
    },
    /// A timer went off. Answers [`Effect::Wake`](super::Effect::Wake).
    Woke {
        /// Which.
        timer: Timer,
    },
    /// A named lock is now held for a place. Answers [`Effect::Lock`](super::Effect::Lock).
    Locked {
        /// For whom.
        place: Place,
    },
    /// The cache was looked up. Answers [`Effect::Lookup`](super::Effect::Lookup).
    Looked {
        /// For whom.
        place: Place,
        /// What it held.
        found: Option<Cached>,
    },
    /// A file of a place's evidence is not what it was when the place was checked.
    Stale(Stale),
    /// Evidence was looked at once more. Answers [`Effect::Confirm`](super::Effect::Confirm).
    Confirmed {
        /// What is stale: at most one file for each place.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stale: Vec<Stale>,
    },
    /// The gates at a point were asked. Answers [`Effect::Gate`](super::Effect::Gate).
    Gated {
        /// The place; `None`: the gates of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// Where.
        point: GatePoint,
        /// What they said.
        #[serde(flatten)]
        gated: Gated,
    },
    /// People decided. Answers [`Effect::Ask`](super::Effect::Ask).
    Answered {
        /// The number of what was asked.
        number: u32,
        /// What they decided.
        #[serde(flatten)]
        given: Given,
    },
    /// The planner was asked. Answers [`Effect::Plan`](super::Effect::Plan).
    Planned {
        /// The number of the round.
        round: u32,
        /// What it printed, or why that does not count.
        #[serde(flatten)]
        said: PlannerSaid,
    },
    /// Somebody asks for the end of the run. Asked again, what still runs is killed at once.
    Cancel {
        /// Who or why, for the record.
        why: String,
    },
}

/// What came of asking a planner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerSaid {
    /// What it printed.
    Text(String),
    /// Why there is nothing that counts.
    Nothing(String),
}

impl From<PlannerSaid> for Result<String, String> {
    fn from(said: PlannerSaid) -> Self {
        match said {
            PlannerSaid::Text(text) => Ok(text),
            PlannerSaid::Nothing(why) => Err(why),
        }
    }
}

/// A result taken over from an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Kept {
    /// The step.
    pub step: Name,
    /// The key of one of its items; `None`: the whole step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Its outputs.
    pub outputs: Object,
    /// How far it is believed.
    pub standing: Standing,
    /// The run that did the work.
    pub from: RunId,
}

/// A result of an earlier run that is not what its run left, so that its step runs again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The step.
    pub step: Name,
    /// The key of one of its items; `None`: the whole step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The difference, to follow "it runs again: ".
    pub why: String,
    /// The run that did the work.
    pub from: RunId,
}

/// A step that is left out of a run by choice, or all of its items but some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The step.
    pub step: Name,
    /// The keys of the items that run all the same; empty: the whole step is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub but: Vec<String>,
}

/// How the work of an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Which attempt.
    pub attempt: Attempt,
    /// How.
    pub exit: Exit,
    /// What it wrote to its output file, read but not yet checked.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub outputs: Object,
    /// The files it left, if it succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// How far the result of a nested run is believed; `None` for all other work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// Whose fault a failure is, by what the work printed; `None`: [`Exit::class`] says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The files that the results inside of a nested run were checked with, if it is verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Artifact>,
    /// What it used up, as it said, however it ended.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    /// Whether something that it started lives on, for later steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub service: bool,
}

/// What a cache held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cached {
    /// The key that matched.
    pub key: Digest,
    /// The run that did the work.
    pub from: RunId,
    /// Its outputs.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub outputs: Object,
    /// Its artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
}

/// A file that an attempt left, kept under its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Artifact {
    /// Its path, relative to the workspace.
    pub path: String,
    /// SHA-256 of its content.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

/// What a check ruled on one criterion (DESIGN section 5; roles R4a: per criterion, never
/// holistic).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    /// The criterion.
    pub name: Name,
    /// What it is asked for; absent: `verify`.
    #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
    pub phase: CheckPhase,
    /// The ruling.
    pub ruling: Ruling,
    /// What was expected, in a few words; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What was found, in a few words; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// The probe's output, at most [`WHY_LIMIT`](super::WHY_LIMIT) characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// Whose fault a failure is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// How long it took.
    pub millis: u64,
    /// How the criterion can be known to hold.
    #[serde(default, skip_serializing_if = "Mode::is_default")]
    pub mode: Mode,
    /// What confined its process; absent: nothing was run; empty: the sandbox was off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<Vec<Guard>>,
    /// What its process did not see of the workspace, since it is new and nothing declares it: the
    /// first [`HIDDEN_LIMIT`] paths. A folder stands for all that is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
}

impl Verdict {
    /// What was found instead of what was expected, in one sentence; empty if it passed.
    pub fn mismatch(&self) -> String {
        match (self.expected.as_str(), self.found.as_str()) {
            ("", found) => found.to_owned(),
            (expected, found) => format!("expected {expected}, found {found}"),
        }
    }
}

/// The most paths of hidden files that a verdict names.
pub const HIDDEN_LIMIT: usize = 16;

/// A ruling. A check that cannot run rules `error`, which is never a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The criterion holds.
    Pass,
    /// It does not.
    Fail,
    /// Nobody knows.
    Error,
}

/// How a run ends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step that had to ended well, and so did the plan's own criteria.
    Succeeded,
    /// Some step or criterion failed.
    Failed,
    /// It was told to end.
    Cancelled,
    /// It failed, and the controller has nothing left to try.
    Abandoned,
}

impl Happening {
    /// Whether it answers what prepares the next attempt of a place; see [`Effect::prepares`].
    ///
    /// [`Effect::prepares`]: super::Effect::prepares
    pub fn prepares(&self) -> bool {
        matches!(
            self,
            Self::Locked { .. } | Self::Looked { .. } | Self::Gated { place: Some(_), .. }
        )
    }
}

impl Verdict {
    /// Whether the criterion holds.
    pub fn passed(&self) -> bool {
        self.ruling == Ruling::Pass
    }
}

impl From<Kept> for Fact {
    fn from(kept: Kept) -> Self {
        let Kept {
            step,
            item,
            outputs,
            standing,
            from,
        } = kept;
        match item {
            None => Self::StepKept {
                step,
                outputs,
                standing,
                from,
            },
            Some(key) => Self::ItemKept {
                step,
                key,
                outputs,
                standing,
                from,
            },
        }
    }
}

impl From<Left> for Fact {
    fn from(left: Left) -> Self {
        let Left { step, but } = left;
        Self::StepLeft { step, but }
    }
}

impl From<Dropped> for Fact {
    fn from(dropped: Dropped) -> Self {
        let Dropped {
            step,
            item,
            why,
            from,
        } = dropped;
        Self::ResultDropped {
            step,
            key: item,
            why,
            from,
        }
    }
}
