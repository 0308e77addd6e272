use std::time::Duration;

use serde::Serialize;

use crate::files::folder::StoreDurability;
use wf_base::{
    name::{Name, PlanId, RunId, SessionName},
    time::Moment,
};
use wf_core::{
    goal::ReconciliationPart,
    machine::{
        Artifact, CheckVerdict, ChildId, CriteriaCount, LeftProcesses, RunOutcome, Standing, StepCounts,
        StepState, WorkExit,
    },
    undo::UndoOffer,
};
use wf_model::{FailureClass, JsonObject};

/// A run as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    pub id: RunId,
    /// The id of its plan.
    pub plan: String,
    /// The path of its spec, relative to the workspace.
    pub path: String,
    pub state: RunState,
    /// The standing of its result.
    pub standing: Standing,
    /// Its resolved parameters.
    pub params: JsonObject,
    /// The run and the attempt (as shown, `step[item]#n`) it is nested in.
    pub parent: Option<(RunId, String)>,
    /// The name under which an agent of its parent dispatched it; `None`: a step uses its plan, or it is not nested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatched: Option<ChildId>,
    pub retry_of: Option<RunId>,
    /// The session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// The time it was recorded.
    pub created: Moment,
    pub ended: Option<Moment>,
    /// The reason for its outcome; empty for success.
    pub reason: String,
    /// The first step that failed.
    pub failed_step: Option<Name>,
    /// The number of its steps that have ended, by outcome; all zero while it runs, unless they were counted.
    pub counts: StepCounts,
    pub outputs: JsonObject,
    /// The number of open questions to the user.
    pub pending_approvals: u32,
    /// True if requests are open, and no task is at work meanwhile.
    #[serde(skip)]
    pub waits_for_people: bool,
    /// The number of criteria that passed, if it was accepted with fewer than all.
    pub accepted: Option<CriteriaCount>,
    /// The means to undo it, if it has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoOffer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo_of: Option<RunId>,
    /// The part of a goal's reconciliation it is, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<ReconciliationPart>,
    /// The durability of its events; absent if it was recorded by a version without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<StoreDurability>,
    /// The time in which no process worked on it before it was resumed, in milliseconds.
    pub idle_ms: u64,
    /// The end of the work on it, as far as its record tells.
    #[serde(skip)]
    pub work_end: WorkEnd,
}

/// The end of the work on a run. Work is the time in which a process has the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkEnd {
    /// A process has it.
    #[default]
    Open,
    /// It ended, or its process left it, or died while no task was at work.
    At(Moment),
    /// Its process died while a task was at work, at an unknown time after this sign of life.
    UnknownAfter(Moment),
}

impl WorkEnd {
    /// Returns the last instant up to now that its record tells of.
    pub fn known(self, now: Moment) -> Moment {
        match self {
            Self::Open => now,
            Self::At(end) | Self::UnknownAfter(end) => end,
        }
    }
}

impl RunRow {
    /// Returns the duration from its beginning to its end, without the time in which no process
    /// worked on it.
    pub fn duration(&self) -> Option<Duration> {
        self.ended.map(|ended| self.duration_until(ended))
    }

    /// Returns the time worked on it up to now; `None`: nobody knows when its process died.
    pub fn worked(&self, now: Moment) -> Option<Duration> {
        match self.work_end {
            WorkEnd::UnknownAfter(_) => None,
            end => Some(self.duration_until(end.known(now))),
        }
    }

    /// Returns its duration up to an instant.
    pub(crate) fn duration_until(&self, now: Moment) -> Duration {
        let idle = Duration::from_millis(self.idle_ms);
        now.since(self.created).saturating_sub(idle)
    }
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run has begun and not ended; a process may or may not work on it.
    Running,
    #[serde(untagged)]
    Ended(RunOutcome),
}

/// A step, or an item of a repeated step, as the store shows it. Only steps with an event have a
/// row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRow {
    pub step: Name,
    /// The item, if the step is repeated; the step's own row has none.
    pub item: Option<u32>,
    /// The item's key.
    pub item_key: Option<String>,
    pub state: StepState,
    /// The standing of its result.
    pub standing: Standing,
    /// The number of attempts started.
    pub attempts: u32,
    /// The start of the first attempt.
    pub started: Option<Moment>,
    pub ended: Option<Moment>,
    /// The reason for its state.
    pub reason: String,
    pub failure_class: Option<FailureClass>,
    /// True if its failure lets the run continue.
    pub allowed_to_fail: bool,
    /// The cache key under which an earlier result was found.
    pub cache_key: Option<String>,
    /// The run that did the work, if the result was reused.
    pub reused_from: Option<RunId>,
    pub outputs: JsonObject,
    /// A file of its evidence that changed after the check.
    pub stale: Option<String>,
}

/// An attempt as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptRow {
    pub step: Name,
    pub item: Option<u32>,
    pub attempt: u32,
    pub started: Moment,
    /// The end of its work.
    pub ended: Option<Moment>,
    pub exit: Option<WorkExit>,
    pub failure_class: Option<FailureClass>,
    /// The processes it left running.
    #[serde(flatten)]
    pub left: LeftProcesses,
}

/// A verdict on a criterion as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckRow {
    /// The step; `None` for the plan's own criteria.
    pub step: Option<Name>,
    pub item: Option<u32>,
    /// The judged attempt.
    pub attempt: Option<u32>,
    pub at: Moment,
    pub verdict: CheckVerdict,
}

/// An artifact of an attempt, as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArtifactRow {
    pub step: Name,
    pub item: Option<u32>,
    /// The attempt that produced it; 0: none of this run, since the result was cached or reused.
    pub attempt: u32,
    /// The file.
    pub artifact: Artifact,
}

/// The process working on a run, or did when it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunOwner {
    /// Its process id.
    pub pid: u32,
    pub alive: bool,
}

/// The runs of a plan with an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOutcomeCount {
    /// The id of the plan.
    pub plan: String,
    pub outcome: RunOutcome,
    pub count: u64,
}

/// A filter of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this plan.
    pub plan: Option<PlanId>,
    /// Only runs in this state.
    pub state: Option<RunState>,
    /// Only runs of this session.
    pub session: Option<SessionName>,
    /// Nested runs too.
    pub nested: bool,
    /// Without the checks of goals.
    pub no_checks: bool,
    /// Only runs recorded since then.
    pub since: Option<Moment>,
    /// Only runs that were recorded before this one; none if it is not there.
    pub before: Option<RunId>,
}
