//! The state of a run and of its tasks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::machine::{
    state,
    state::{
        fold::reused::ReusableResult,
        parts::{
            agents::AgentsState, control::ControllerState, gates::GatesState, proof::ProofState,
            task_record::TaskRecord,
        },
        plan_rules::steps_digest,
        task_phase::{TaskIndex, TaskPhase},
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
    pub(in crate::machine::state) logic_version: u32,
    /// The digest of the plan's steps, which the numbers in it refer to.
    pub(in crate::machine::state) steps_digest: Sha256Digest,
    /// The time of the last event.
    pub(in crate::machine::state) last: Moment,
    pub(in crate::machine::state) run: RunId,
    pub(in crate::machine::state) params: JsonObject,
    /// The name of the run as one dispatched by an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine::state) dispatch: Option<Name>,
    pub(in crate::machine::state) started: Option<Moment>,
    pub(in crate::machine::state) phase: RunPhase,
    pub(in crate::machine::state) steps: Vec<StepRecord>,
    /// Derived from the phases of all tasks.
    #[serde(skip)]
    pub(in crate::machine::state) index: TaskIndex,
    /// The tasks that the current event moves, each with its new phase.
    #[serde(skip)]
    pub(in crate::machine::state) moved: Vec<(TaskIx, TaskPhase)>,
    /// The step whose failure keeps others from beginning.
    pub(in crate::machine::state) stopping: Option<u32>,
    pub(in crate::machine::state) cancelled: Option<CancelRequest>,
    pub(in crate::machine::state) timed_out: bool,
    /// The first step whose failure counts.
    pub(in crate::machine::state) failed: Option<u32>,
    /// Reused results of items, by step and key, until the items are known.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine::state) offers: BTreeMap<(u32, String), ReusableResult>,
    /// Steps left out by choice, each with the keys of the items that run nevertheless.
    pub(in crate::machine::state) left: BTreeMap<u32, Vec<String>>,
    /// Open main steps.
    pub(in crate::machine::state) open: u32,
    /// Open `finally` steps.
    pub(in crate::machine::state) open_last: u32,
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
    /// The initial state of repeated steps' items in the next round.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine::state) made: BTreeMap<TaskIx, TaskRecord>,
    /// The resources used, and the budget.
    #[serde(default)]
    pub(in crate::machine) ledger: BudgetLedger,
    pub(in crate::machine::state) counts: StepCounts,
    pub(in crate::machine::state) outcome: Option<RunOutcome>,
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
    /// Open dependencies.
    pub(in crate::machine::state) waiting: u32,
    /// The first dependency that did not end well.
    pub(in crate::machine::state) blocker: Option<u32>,
    /// The time its dependencies ended; of a repeated step, the time its items became known.
    pub(in crate::machine::state) ready: Option<Moment>,
    pub(in crate::machine::state) state: StepState,
    pub(in crate::machine::state) standing: Standing,
    pub(in crate::machine::state) allowed_to_fail: bool,
    /// The one task of a step that is not repeated.
    pub(in crate::machine::state) once: TaskRecord,
    /// The items of a repeated step, once known.
    pub(in crate::machine::state) many: Option<Box<StepItems>>,
    pub(in crate::machine::state) outputs: Option<Box<JsonObject>>,
}

/// The items of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct StepItems {
    pub(in crate::machine) items: Vec<StepItem>,
    pub(in crate::machine) records: Vec<TaskRecord>,
    /// Open items.
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

    pub(in crate::machine) fn state(&self) -> StepState {
        self.state
    }

    /// True if it has ended.
    pub(in crate::machine) fn is_over(&self) -> bool {
        self.state.is_final()
    }

    pub(in crate::machine) fn standing(&self) -> Standing {
        self.standing
    }

    /// True if its failure fails nothing else.
    pub(in crate::machine) fn is_allowed_to_fail(&self) -> bool {
        self.allowed_to_fail
    }

    /// True if a dependency has not ended.
    pub(in crate::machine) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Returns the first dependency that did not end well.
    pub(in crate::machine) fn blocker(&self) -> Option<u32> {
        self.blocker
    }

    /// Returns the one task of a step that is not repeated.
    pub(in crate::machine) fn only_task(&self) -> &TaskRecord {
        &self.once
    }

    /// Returns the items of a repeated step, once they are known.
    pub(in crate::machine) fn items(&self) -> Option<&StepItems> {
        self.many.as_deref()
    }

    /// Returns its outputs, once it has any.
    pub(in crate::machine) fn outputs(&self) -> Option<&JsonObject> {
        self.outputs.as_deref()
    }
}

impl MachineState {
    /// Returns the requests that wait for approvers, by number.
    pub fn open_requests(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.gates.pending_approvals().map(|pending| &pending.ask)
    }

    /// Creates the state of a run before its beginning.
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

    /// Returns the run.
    pub(in crate::machine) fn run_id(&self) -> &RunId {
        &self.run
    }

    /// Returns the parameters of the run.
    pub(in crate::machine) fn params(&self) -> &JsonObject {
        &self.params
    }

    /// Returns the name of the run as one dispatched by an agent.
    pub(in crate::machine) fn dispatch(&self) -> Option<&Name> {
        self.dispatch.as_ref()
    }

    /// Returns the time at which the run began.
    pub(in crate::machine) fn started(&self) -> Option<Moment> {
        self.started
    }

    /// Returns the phase of the run.
    pub(in crate::machine) fn phase(&self) -> RunPhase {
        self.phase
    }

    /// Returns the outcome of the run, if it has ended.
    pub(in crate::machine) fn outcome(&self) -> Option<RunOutcome> {
        self.outcome
    }

    /// Returns the request for cancellation.
    pub(in crate::machine) fn cancellation(&self) -> Option<&CancelRequest> {
        self.cancelled.as_ref()
    }

    /// True if the run took too long.
    pub(in crate::machine) fn is_timed_out(&self) -> bool {
        self.timed_out
    }

    /// True if the failure of a step keeps others from beginning.
    pub(in crate::machine) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// Returns the first step with a failure that counts.
    pub(in crate::machine) fn failed_step(&self) -> Option<u32> {
        self.failed
    }

    /// Returns the number of steps.
    pub(in crate::machine) fn step_count(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of steps by final state.
    pub(in crate::machine) fn counts(&self) -> StepCounts {
        self.counts
    }

    /// True if all main steps have ended.
    pub(in crate::machine) fn have_steps_ended(&self) -> bool {
        self.open == 0
    }

    /// True if all `finally` steps have ended.
    pub(in crate::machine) fn have_finally_ended(&self) -> bool {
        self.open_last == 0
    }

    /// True if the user left out a step or an item.
    pub(in crate::machine) fn is_partial(&self) -> bool {
        !self.left.is_empty()
    }

    /// True if the user left out a step.
    pub(in crate::machine) fn is_left_out(&self, step: u32) -> bool {
        self.chosen_items(step) == Some(0)
    }

    /// Returns the number of items chosen of a step; `None`: nothing of it is left out.
    pub(in crate::machine) fn chosen_items(&self, step: u32) -> Option<usize> {
        self.left.get(&step).map(Vec::len)
    }

    /// Returns the number of tasks at work in their room.
    pub(in crate::machine) fn busy_tasks(&self) -> u32 {
        self.index.busy
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
        self.phase == RunPhase::Gates && (self.is_ending() || self.gates.is_blocked())
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
        let gaps = record.and_then(TaskRecord::history).map(|tries| &tries.gaps);
        if let Some([.., before, last]) = gaps.map(Vec::as_slice)
            && last.attempt.saturating_add(1) == attempt.attempt
            && u64::from(last.failed) * u64::from(before.of) < u64::from(before.failed) * u64::from(last.of)
        {
            self.ledger.progress = Some(at);
        }
    }

    /// True if it does not have this number of steps, or refers to one beyond them.
    pub(in crate::machine) fn refers_beyond(&self, steps: usize) -> bool {
        let tasks = self
            .proof
            .tasks_with_evidence()
            .chain(self.proof.stale_files().keys().copied())
            .chain(self.made.keys().copied());
        let tasks = tasks.chain(self.gates.pending_approvals().filter_map(|pending| pending.task));
        let blockers = self.steps.iter().filter_map(|record| record.blocker);
        let mut named = (tasks.map(|TaskIx { step, .. }| step))
            .chain(self.control.changed_steps().chain(self.left.keys()).copied())
            .chain(blockers)
            .chain(self.stopping.into_iter().chain(self.failed));
        self.steps.len() != steps || named.any(|step| step as usize >= steps)
    }

    /// True if a step that has ended failed verification.
    pub(in crate::machine) fn has_refuted(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.standing == Standing::Refuted)
    }

    /// Returns the tasks with fresh evidence, in plan order.
    pub(in crate::machine) fn tasks_with_fresh_evidence(&self) -> impl Iterator<Item = TaskIx> + '_ {
        let tasks = self.proof.tasks_with_evidence();
        tasks.filter(|task| self.is_verified(*task))
    }

    /// True if a task ended checked and its evidence is not stale.
    pub(in crate::machine) fn is_verified(&self, task: TaskIx) -> bool {
        let record = self.step_record(task.step);
        match (task.item, &record.many) {
            (None, None) => record.state == StepState::Succeeded && record.standing.is_checked(),
            (Some(item), Some(many)) => many.records.get(item as usize).is_some_and(|record| {
                record.ended() == Some(StepState::Succeeded) && record.standing().is_checked()
            }),
            _ => false,
        }
    }

    /// True if a task has begun no attempt in this round.
    pub(in crate::machine) fn is_untried(&self, task: TaskIx) -> bool {
        self.task_record(task).is_some_and(|record| record.attempts_of_round() == 0)
    }

    /// Returns the earlier result of an item of a step, for any value.
    pub(in crate::machine) fn earlier_result(&self, step: u32, item: &StepItem) -> Option<&ReusableResult> {
        self.offers.get(&(step, item.key.clone()))
    }

    /// True if the agent of an attempt waits for child runs, and all begun ones are among some runs, given by the
    /// names of their attempts.
    pub(in crate::machine) fn only_collects(
        &self,
        task: TaskIx,
        attempt: &Attempt,
        runs: &BTreeSet<String>,
    ) -> bool {
        let record = self.task_record(task).and_then(TaskRecord::agent);
        let Some(record) = record.filter(|record| record.is_collecting()) else { return false };
        let mut begun = record.children.iter().filter(|child| child.phase == ChildPhase::Running);
        begun.all(|child| {
            let id = ChildId { attempt: attempt.clone(), child: child.start.child.clone() };
            runs.contains(&id.attempt_path())
        })
    }
}
