use std::{collections::BTreeSet, path::PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::{
    AgentCalls, AskedCall, CallChain, GapTrajectory, LoopedAttempt, ModelSpending, RunDecisions,
    RunLifecycle, StaleDependant, UnbegunChild, lifecycle::write_lifecycles,
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::{
    machine::{BudgetLedger, ChildId, StepState, TaskId},
    undo::UndoRun,
};
use wf_store::{ArtifactRow, AttemptRow, CheckRow, RunOwner, RunRow, StepRow};

/// The version of the document of `wf show --json`. Within a version, keys are only added.
pub const RECORD_VERSION: u32 = 1;

/// Everything known of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRecord {
    /// The version of the format.
    pub v: u32,
    pub run: RunRow,
    /// The state in its life cycle, its process considered.
    pub life: RunLifecycle,
    /// The run it is part of, at the top, if it is part of one.
    #[serde(skip)]
    pub top: Option<RunId>,
    /// The runs that retry it.
    pub repeated_by: Vec<RunId>,
    /// The runs that undo it, in the order of their starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone_by: Vec<UndoRun>,
    /// The folder of the worktree it has for itself, while that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// The process working on it, or did when it died.
    pub owner: Option<RunOwner>,
    /// The steps that have events.
    pub steps: Vec<StepRow>,
    pub attempts: Vec<AttemptRow>,
    /// The verdicts.
    pub checks: Vec<CheckRow>,
    /// The gaps of the attempts of each task.
    pub gaps: Vec<GapTrajectory>,
    /// The attempts for which `inspect` or `test` sent the work back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopedAttempt>,
    /// The steps depending on one whose evidence is stale.
    pub shaken: Vec<StaleDependant>,
    /// The approvals, gates and decisions it needed.
    #[serde(flatten)]
    pub decisions: RunDecisions,
    /// The calls of its agents, by attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentCalls>,
    /// The model calls on the longest chain of calls waiting for each other.
    #[serde(skip_serializing_if = "is_none_made")]
    pub sequential_calls: usize,
    /// That chain, by caller, and the calls of each step in sequence.
    #[serde(skip_serializing_if = "CallChain::is_empty")]
    pub call_chain: CallChain,
    /// The calls of its judges, gates and planners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedCall>,
    /// The child runs of its agents that did not begin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unbegun: Vec<UnbegunChild>,
    /// Its model calls, by caller and model; those of nested runs apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelSpending>,
    /// The amounts it has used, and their budget; absent if there is neither a budget nor
    /// anything that only a ledger records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<BudgetLedger>,
    /// The files it left.
    pub artifacts: Vec<ArtifactRow>,
    /// The digests of artifacts whose stored file the retention removed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub pruned_artifacts: BTreeSet<Sha256Digest>,
    /// The runs nested in it, each with the attempt it is nested in.
    pub nested: Vec<NestedRunRecord>,
}

/// A run nested in another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NestedRunRecord {
    /// The attempt above it, by its display name: `build[2]#1`.
    pub attempt: String,
    pub record: RunRecord,
}

impl RunRecord {
    /// Marks as waiting the tasks waiting for their items or for a nested run: in a run with only
    /// pending approvals, nothing runs.
    #[must_use]
    pub fn with_waiting_tasks(mut self) -> Self {
        for row in &mut self.steps {
            row.state = self.life.shown_state(row.state);
        }
        self
    }

    /// Returns the pending approvals of it and of nested runs, by its names.
    pub fn open_questions(&self) -> Vec<String> {
        let open = self.decisions.questions.iter();
        let open = open.filter(|question| question.given.is_none());
        let own = open.map(|question| match &question.ask.task_id {
            Some(place) => self.task_display_name(place),
            None => "run".to_owned(),
        });
        let inside = self.nested.iter().flat_map(|nested| {
            let above = nested.attempt.split('#').next().unwrap_or_default();
            let place = above.parse::<TaskId>();
            let above = place.map_or_else(|_| above.to_owned(), |place| self.task_display_name(&place));
            let names = nested.record.open_questions().into_iter();
            names.map(move |name| match name.as_str() {
                "run" => above.clone(),
                name => format!("{above}/{name}"),
            })
        });
        own.chain(inside).collect()
    }

    /// Returns the model calls of it and of nested runs, by caller and model.
    pub fn spending(&self) -> Vec<ModelSpending> {
        ModelSpending::merged(self.all_spending())
    }

    fn all_spending(&self) -> Vec<&ModelSpending> {
        let nested = self.nested.iter().flat_map(|nested| nested.record.all_spending());
        self.models.iter().chain(nested).collect()
    }

    pub fn document(&self) -> Value {
        let mut document = serde_json::to_value(self).unwrap_or_default();
        write_lifecycles(&mut document);
        document
    }

    /// Returns the document as JSON.
    pub fn json(&self) -> String {
        format!("{:#}\n", self.document())
    }

    /// Returns the verdicts on the last checked attempt of a task.
    pub fn rulings(&self, task_id: &TaskId) -> Vec<&CheckRow> {
        let of = |check: &&CheckRow| check.step.as_ref() == Some(&task_id.step) && check.item == task_id.item;
        let last = self.checks.iter().filter(of).filter_map(|check| check.attempt).max();
        let checks = self.checks.iter().filter(of);
        checks.filter(|check| check.attempt == last).collect()
    }

    /// Returns `gap 3/5 → 0/5`, if more than one attempt of a task was checked.
    pub fn gap(&self, task_id: &TaskId) -> Option<String> {
        self.gaps.iter().find(|gaps| gaps.is_of(task_id))?.text()
    }

    /// Returns the verdicts on the plan's own criteria.
    pub fn own_rulings(&self) -> impl Iterator<Item = &CheckRow> {
        self.checks.iter().filter(|check| check.step.is_none())
    }

    pub fn task_display_name(&self, task_id: &TaskId) -> String {
        let own = |row: &&StepRow| row.step == task_id.step && row.item == task_id.item;
        match self.steps.iter().find(own).filter(|_| task_id.item.is_some()) {
            Some(row) => row_display_name(row),
            None => task_id.to_string(),
        }
    }

    /// Returns the child runs agents of a task started.
    pub fn children_of(&self, task_id: &TaskId) -> impl Iterator<Item = (ChildId, &Self)> {
        let named =
            self.nested.iter().filter_map(|nested| Some((nested.attempt.parse().ok()?, &nested.record)));
        named.filter(move |(id, _): &(ChildId, &Self)| id.attempt.task_id == *task_id)
    }

    /// Returns the runs nested in attempts of a task.
    pub fn nested_in(&self, task_id: &TaskId) -> impl Iterator<Item = &RunRecord> {
        let place = task_id.to_string();
        self.nested
            .iter()
            .filter(move |nested| nested.attempt.rsplit_once('#').is_some_and(|(p, _)| p == place))
            .map(|nested| &nested.record)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_made(calls: &usize) -> bool {
    *calls == 0
}

pub(super) fn task_of_row(row: &StepRow) -> TaskId {
    TaskId { step: row.step.clone(), item: row.item }
}

/// The display name of the task of a row.
pub fn row_display_name(row: &StepRow) -> String {
    task_of_row(row).display_name(row.item_key.as_deref())
}

/// The duration of a step, if it started and ended.
pub(super) fn step_duration(row: &StepRow) -> Option<std::time::Duration> {
    let started = row.started?;
    row.ended.map(|ended| ended.since(started))
}

/// True if the row counts in the tally: a whole step that ended.
pub(super) fn is_whole(row: &StepRow) -> bool {
    row.item.is_none() && row.state != StepState::Pending
}
