//! The state of a run and of its tasks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::machine::{
    state,
    state::{
        control::ControllerState,
        fold::{agents::AgentsState, checks::ProofState, gates::GatesState, reused::ReusableResult},
        plan_rules::steps_digest,
        task_phase::{TaskIndex, TaskPhase},
        task_record::TaskRecord,
    },
    words::{
        ApprovalRequest, Attempt, BudgetLedger, ChildId, ChildPhase, LOGIC_VERSION, RunOutcome, RunPhase,
        Standing, StepCounts, StepItem, StepState, TaskId, serde_pairs,
    },
};
use wf_base::{
    digest::Sha256Digest,
    name::{Name, RunId},
    time::Moment,
};
use wf_model::{JsonObject, Plan, StepIx, StepRepetition};

/// A task by number, which orders tasks as the plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(in crate::machine) struct TaskIx {
    pub(in crate::machine) step: u32,
    pub(in crate::machine) item: Option<u32>,
}

impl TaskIx {
    pub(in crate::machine) fn ix(self) -> StepIx {
        StepIx(self.step)
    }
}

/// The state of a run. The fold of its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineState {
    /// The version of the rules that wrote it.
    pub(in crate::machine) logic_version: u32,
    /// The digest of the plan's steps, which the numbers in it refer to.
    pub(in crate::machine) steps_digest: Sha256Digest,
    /// The time of the last event.
    pub(in crate::machine) last: Moment,
    pub(in crate::machine) run: RunId,
    pub(in crate::machine) params: JsonObject,
    /// The name under which an agent dispatched the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) dispatch: Option<Name>,
    pub(in crate::machine) started: Option<Moment>,
    pub(in crate::machine) phase: RunPhase,
    pub(in crate::machine) steps: Vec<StepRecord>,
    /// Derived from the phases of all tasks.
    #[serde(skip)]
    pub(in crate::machine) index: TaskIndex,
    /// The tasks that the current event moves, each with its new phase.
    #[serde(skip)]
    pub(in crate::machine) moved: Vec<(TaskIx, TaskPhase)>,
    /// The step whose failure keeps others from beginning.
    pub(in crate::machine) stopping: Option<u32>,
    pub(in crate::machine) cancelled: Option<CancelRequest>,
    pub(in crate::machine) timed_out: bool,
    /// The first step whose failure counts.
    pub(in crate::machine) failed: Option<u32>,
    /// Reused results of items, by step and key, until the items are known.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) offers: BTreeMap<(u32, String), ReusableResult>,
    /// Steps left out by choice, each with the keys of the items that run nevertheless.
    pub(in crate::machine) left: BTreeMap<u32, Vec<String>>,
    /// Main steps that have not ended.
    pub(in crate::machine) open: u32,
    /// `finally` steps that have not ended.
    pub(in crate::machine) open_last: u32,
    /// The plan's own checks, and the evidence of all.
    #[serde(flatten)]
    pub(in crate::machine) proof: ProofState,
    /// The work of agents that concerns more than one of them.
    #[serde(flatten)]
    pub(in crate::machine) agents: AgentsState,
    /// The requests to people, and what gates said of the run.
    #[serde(flatten)]
    pub(in crate::machine) gates: GatesState,
    /// The controller's knowledge.
    pub(in crate::machine) control: ControllerState,
    /// The state that items of repeated steps begin with in the next round.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) made: BTreeMap<TaskIx, TaskRecord>,
    /// The resources used, and the budget.
    #[serde(default)]
    pub(in crate::machine) ledger: BudgetLedger,
    pub(in crate::machine) counts: StepCounts,
    pub(in crate::machine) outcome: Option<RunOutcome>,
}

/// A request for cancellation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct CancelRequest {
    pub(in crate::machine) reason: String,
    pub(in crate::machine) force: bool,
}

/// The state of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct StepRecord {
    /// Dependencies that have not ended.
    pub(in crate::machine) waiting: u32,
    /// The first dependency that did not end well.
    pub(in crate::machine) blocker: Option<u32>,
    /// The time its dependencies ended; of a repeated step, the time its items became known.
    pub(in crate::machine) ready: Option<Moment>,
    pub(in crate::machine) state: StepState,
    pub(in crate::machine) standing: Standing,
    pub(in crate::machine) allowed_to_fail: bool,
    /// The one task of a step that is not repeated.
    pub(in crate::machine) once: TaskRecord,
    /// The items of a repeated step, once known.
    pub(in crate::machine) many: Option<Box<StepItems>>,
    pub(in crate::machine) outputs: Option<Box<JsonObject>>,
}

/// The items of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct StepItems {
    pub(in crate::machine) items: Vec<StepItem>,
    pub(in crate::machine) records: Vec<TaskRecord>,
    /// Items that have not ended.
    pub(in crate::machine) open: u32,
    /// The first item that was not yet put into the queue.
    pub(in crate::machine) next: u32,
}

impl StepRecord {
    /// Returns the task of the step and, if it is repeated, those of its items, each with its number.
    pub(in crate::machine) fn tasks(&self) -> impl Iterator<Item = (Option<u32>, &TaskRecord)> {
        let items = self.many.iter().flat_map(|many| (0_u32..).map(Some).zip(&many.records));
        std::iter::once((None, &self.once)).chain(items)
    }
}

impl MachineState {
    /// Returns the requests that wait for approvers, by number.
    pub fn open_requests(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.gates.asks.values().map(|pending| &pending.ask)
    }

    /// Creates the state of a run that has not begun.
    pub(in crate::machine) fn new(plan: &Plan, run: RunId, params: JsonObject) -> Self {
        let record = |step: &wf_model::Step| StepRecord {
            waiting: u32::try_from(step.depends_on.len()).unwrap_or(u32::MAX),
            ..StepRecord::default()
        };
        let main = plan.parts().main.min(plan.steps().len());
        Self {
            logic_version: LOGIC_VERSION,
            steps_digest: steps_digest(plan),
            last: Moment::default(),
            run,
            params,
            dispatch: None,
            started: None,
            phase: RunPhase::Steps,
            steps: plan.steps().iter().map(record).collect(),
            index: TaskIndex::default(),
            moved: Vec::new(),
            stopping: None,
            cancelled: None,
            timed_out: false,
            failed: None,
            offers: BTreeMap::new(),
            left: BTreeMap::new(),
            open: u32::try_from(main).unwrap_or(u32::MAX),
            open_last: u32::try_from(plan.steps().len() - main).unwrap_or(u32::MAX),
            gates: GatesState::default(),
            proof: ProofState::default(),
            agents: AgentsState::default(),
            control: ControllerState::default(),
            made: BTreeMap::new(),
            ledger: BudgetLedger::default(),
            counts: StepCounts::default(),
            outcome: None,
        }
    }

    pub(in crate::machine) fn step_record(&self, step: u32) -> &StepRecord {
        &self.steps[step as usize]
    }

    /// Returns the state of a step, to be changed.
    pub(in crate::machine) fn step_record_mut(&mut self, step: u32) -> &mut StepRecord {
        &mut self.steps[step as usize]
    }

    /// Returns the state of a task; `None` for an item that does not exist.
    pub(in crate::machine) fn task_record(&self, task: TaskIx) -> Option<&TaskRecord> {
        let record = self.step_record(task.step);
        match (task.item, &record.many) {
            (None, _) => Some(&record.once),
            (Some(item), Some(many)) => many.records.get(item as usize),
            (Some(_), None) => None,
        }
    }

    /// Returns the state of a task, to be changed.
    pub(in crate::machine) fn task_record_mut(&mut self, task: TaskIx) -> Option<&mut TaskRecord> {
        let record = self.step_record_mut(task.step);
        match (task.item, &mut record.many) {
            (None, _) => Some(&mut record.once),
            (Some(item), Some(many)) => many.records.get_mut(item as usize),
            (Some(_), None) => None,
        }
    }

    /// Returns the record of a named task, to be changed.
    pub(in crate::machine) fn named_record_mut(
        &mut self,
        plan: &Plan,
        task_id: &TaskId,
    ) -> Option<&mut TaskRecord> {
        self.task_record_mut(find_task_ix(plan, task_id)?)
    }

    /// Returns the item of a task, if its step is repeated.
    pub(in crate::machine) fn item(&self, task: TaskIx) -> Option<&StepItem> {
        let many = self.step_record(task.step).many.as_ref()?;
        many.items.get(task.item? as usize)
    }

    /// True if the run was cancelled or took too long: nothing but `finally` steps begins.
    pub(in crate::machine) fn is_ending(&self) -> bool {
        self.cancelled.is_some() || self.timed_out || self.ledger.overtime
    }

    /// True if gates kept the run from beginning, or it was cancelled before they passed.
    pub(in crate::machine) fn never_began(&self) -> bool {
        self.phase == RunPhase::Gates && (self.is_ending() || self.gates.blocked.is_some())
    }

    /// True if the user left an item out.
    pub(in crate::machine) fn is_deselected(&self, step: u32, key: &str) -> bool {
        let except_items = self.left.get(&step);
        except_items.is_some_and(|except_items| except_items.iter().all(|run| run != key))
    }

    /// True if nothing may begin at all any more.
    pub(in crate::machine) fn is_force_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(|cancelled| cancelled.force)
    }
}

/// Returns the number of a named task; `None` if the plan has no such step.
pub(in crate::machine) fn find_task_ix(plan: &Plan, task_id: &TaskId) -> Option<TaskIx> {
    let ix = plan.find(task_id.step.as_str())?;
    let repeated = !matches!(plan.step(ix).fan, StepRepetition::Once);
    (repeated || task_id.item.is_none()).then_some(TaskIx { step: ix.0, item: task_id.item })
}

/// Returns the name of a numbered task.
pub(in crate::machine) fn task_id(plan: &Plan, task: TaskIx) -> TaskId {
    TaskId { step: plan.step(task.ix()).id.clone(), item: task.item }
}

/// Returns the name of an attempt of a numbered task.
pub(in crate::machine) fn attempt(plan: &Plan, task: TaskIx, attempt: u32) -> Attempt {
    Attempt { task_id: task_id(plan, task), attempt }
}

impl MachineState {
    /// True if no main step may begin any more.
    pub(in crate::machine) fn is_closing(&self) -> bool {
        self.is_ending() || self.ledger.spent.is_some()
    }

    /// Notes that an attempt came closer to success than the one before it.
    pub(in crate::machine) fn note_progress(&mut self, plan: &Plan, at: Moment, attempt: &Attempt) {
        let record = state::find_task_ix(plan, &attempt.task_id).and_then(|task| self.task_record(task));
        let gaps = record.and_then(|record| record.tries.as_ref()).map(|tries| &tries.gaps);
        if let Some([.., before, last]) = gaps.map(Vec::as_slice)
            && last.attempt.saturating_add(1) == attempt.attempt
            && u64::from(last.failed) * u64::from(before.of) < u64::from(before.failed) * u64::from(last.of)
        {
            self.ledger.progress = Some(at);
        }
    }

    /// True if it does not have this number of steps, or refers to one beyond them.
    pub(in crate::machine) fn refers_beyond(&self, steps: usize) -> bool {
        let tasks = self.proof.evidence.iter().chain(self.proof.stale.keys()).chain(self.made.keys());
        let tasks = tasks.chain(self.gates.asks.values().filter_map(|pending| pending.task.as_ref()));
        let blockers = self.steps.iter().filter_map(|record| record.blocker);
        let control = &self.control;
        let ways = control.ways.keys().chain(control.kinds.keys()).chain(control.tried.keys());
        let mut named = (tasks.map(|TaskIx { step, .. }| step).chain(ways).chain(self.left.keys()).copied())
            .chain(blockers)
            .chain(self.stopping.into_iter().chain(self.failed));
        self.steps.len() != steps || named.any(|step| step as usize >= steps)
    }

    /// True if a step that has ended failed verification.
    pub(in crate::machine) fn has_refuted(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.standing == Standing::Refuted)
    }

    /// Returns the tasks whose evidence is still fresh, in plan order.
    pub(in crate::machine) fn tasks_with_fresh_evidence(&self) -> impl Iterator<Item = TaskIx> + '_ {
        let tasks = self.proof.evidence.iter().copied();
        tasks.filter(|task| self.is_verified(*task))
    }

    /// True if a task ended checked and its evidence is not stale.
    pub(in crate::machine) fn is_verified(&self, task: TaskIx) -> bool {
        let record = self.step_record(task.step);
        match (task.item, &record.many) {
            (None, None) => record.state == StepState::Succeeded && record.standing.is_checked(),
            (Some(item), Some(many)) => many.records.get(item as usize).is_some_and(|record| {
                record.ended() == Some(StepState::Succeeded) && record.standing.is_checked()
            }),
            _ => false,
        }
    }

    /// True if a task has begun no attempt in this round.
    pub(in crate::machine) fn is_untried(&self, task: TaskIx) -> bool {
        self.task_record(task).is_some_and(|record| record.attempts_of_round() == 0)
    }

    /// Returns the result that an item of a step had before, whatever its value was.
    pub(in crate::machine) fn earlier_result(&self, step: u32, item: &StepItem) -> Option<&ReusableResult> {
        self.offers.get(&(step, item.key.clone()))
    }

    /// True if the agent of an attempt waits for child runs, and all that have begun are among some runs, given by the
    /// names of the attempts that they are.
    pub(in crate::machine) fn only_collects(
        &self,
        task: TaskIx,
        attempt: &Attempt,
        runs: &BTreeSet<String>,
    ) -> bool {
        let record = self.task_record(task).and_then(|record| record.agent.as_deref());
        let Some(record) = record.filter(|record| record.is_collecting()) else { return false };
        let mut begun = record.children.iter().filter(|child| child.phase == ChildPhase::Running);
        begun.all(|child| {
            let id = ChildId { attempt: attempt.clone(), child: child.start.child.clone() };
            runs.contains(&id.attempt_path())
        })
    }
}
