//! The fold: the change that each fact makes to the state. Decides nothing.

use crate::{
    ggs::Directive,
    machine::{
        state::{
            self, MachineState, TaskIx,
            fold::{
                agents, evidence, gates, guidance, merges, reopen, reused,
                task_end::{self, TaskEnd},
            },
            machine_state::{CancelRequest, StepItems},
            parts::task_record::AttemptResult,
            plan_rules::{has_gates, takes_room},
            task_phase::{ActivityKind, TaskActivity, TaskPhase},
        },
        words::{
            Attempt, DeselectedStep, EventKind, GatePoint, RunPhase, StepItem, StepState, TaskId, WorkExit,
        },
    },
};
use wf_base::{name::Name, time::Moment};
use wf_model::Plan;

impl MachineState {
    /// Applies one more fact. Returns the tasks that it moved, each with its new phase.
    pub(in crate::machine::state) fn apply(
        &mut self,
        plan: &Plan,
        at: Moment,
        kind: &EventKind,
    ) -> Vec<(TaskIx, TaskPhase)> {
        self.last = self.last.max(at);
        self.ledger.apply_fact(at, kind);
        self.control.apply(plan, at, kind);
        self.proof.apply(plan, kind);
        let approval = self.gates.apply(plan, kind);
        match kind {
            EventKind::RunStarted { dispatch, .. } => {
                self.dispatch.clone_from(dispatch);
                self.begin(plan, at);
            }
            EventKind::StepReused { .. } => self.reuse_step(plan, at, kind),
            EventKind::ItemReused(item) => reused::offer_item(self, plan, item),
            EventKind::StepDeselected(DeselectedStep { step, except_items }) => {
                if let Some(ix) = plan.find(step.as_str()) {
                    self.left.insert(ix.0, except_items.clone());
                }
            }
            EventKind::StepExpanded { step, items } => self.expand(plan, at, step, items),
            EventKind::RoundCompleted(round) if round.goes_on() => {
                reopen::reopen(self, plan, &round.reopened, at);
            }
            // The failures so far are accepted; a later failure of a `finally` step is not.
            EventKind::RoundCompleted(round) if round.solved.directive == Directive::Success => {
                self.failed = None;
            }
            EventKind::RunDraining { step } => self.stopping = plan.find(step.as_str()).map(|ix| ix.0),
            EventKind::CancelRequested { reason, force } => {
                let reason = reason.clone();
                self.cancelled = Some(CancelRequest { reason, force: *force });
            }
            EventKind::RunTimedOut => self.timed_out = true,
            EventKind::PhaseStarted { phase } => self.enter_phase(plan, at, *phase),
            EventKind::RunEnded { outcome, .. } => {
                self.outcome = Some(*outcome);
                self.phase = RunPhase::Ended;
            }
            of_a_task => {
                self.apply_to_task(plan, at, of_a_task);
                gates::apply_to_waiting(self, plan, at, of_a_task, approval);
            }
        }
        std::mem::take(&mut self.moved)
    }

    fn apply_to_task(&mut self, plan: &Plan, at: Moment, kind: &EventKind) {
        match kind {
            EventKind::LockRequested { task_id, .. } => {
                if let Some(task) = state::find_task_ix(plan, task_id) {
                    self.move_task(task, TaskPhase::Locking);
                }
            }
            EventKind::CacheHit { task_id, found } => {
                let cached = Attempt { task_id: task_id.clone(), attempt: 0 };
                let doing = after_work(plan, &cached);
                self.start_attempt(plan, at, &cached, doing);
                self.store_result(plan, task_id, AttemptResult::from_cache(found));
            }
            EventKind::AttemptStarted(attempt) => {
                self.start_attempt(plan, at, attempt, ActivityKind::Working);
            }
            EventKind::CheckCompleted { attempt: Some(attempt), verdict } => {
                if let Some(record) = self.named_record_mut(plan, &attempt.task_id) {
                    record.note_verdict(attempt.attempt, verdict);
                }
            }
            EventKind::ChecksPassed { attempt: Some(attempt), phase } => {
                if let Some(record) = self.named_record_mut(plan, &attempt.task_id) {
                    record.pass_phase(*phase);
                }
            }
            EventKind::AttemptEnded { attempt, how, failure_class, findings, .. } => {
                if let Some(record) = self.named_record_mut(plan, &attempt.task_id) {
                    record.end_attempt(attempt.attempt, how, *failure_class, findings);
                }
                self.apply_work_end(plan, attempt, how, AttemptResult::of_work(kind));
            }
            EventKind::RetryScheduled { attempt, due, looped, .. } => {
                self.note_progress(plan, at, attempt);
                if let Some(task) = state::find_task_ix(plan, &attempt.task_id) {
                    if let Some(record) = self.task_record_mut(task) {
                        record.note_loop(*looped);
                    }
                    self.move_task(task, TaskPhase::Resting(*due));
                    self.set_step_state(task, StepState::Waiting);
                }
            }
            EventKind::GuidanceRequested(_) | EventKind::GuidanceEnded(_) => {
                guidance::apply_guidance(self, plan, at, kind);
            }
            EventKind::EvidenceStale(stale) => evidence::mark_stale(self, plan, stale),
            EventKind::StepEnded { task_id, .. } => self.apply_task_end(plan, at, task_id, kind),
            EventKind::MergeRequested(_) | EventKind::MergeStarted(_) | EventKind::MergeEnded(_) => {
                merges::apply_merge(self, plan, kind);
            }
            EventKind::PlanGenerated(generation) => {
                if let Some(record) = self.named_record_mut(plan, &generation.attempt.task_id) {
                    record.note_generated_plan(generation.text_digest);
                }
            }
            _ => agents::apply_to_agent(self, plan, at, kind),
        }
    }

    fn apply_task_end(&mut self, plan: &Plan, at: Moment, task_id: &TaskId, kind: &EventKind) {
        let EventKind::StepEnded { state, standing, failure_class, allowed_to_fail, outputs, reason, .. } =
            kind
        else {
            return;
        };
        let Some(task) = state::find_task_ix(plan, task_id) else {
            return;
        };
        if let Some(record) = self.task_record_mut(task) {
            // The controller reads the results of a failure, and the next attempt is told of them.
            let keeps = plan.parts().replan.is_some() && *state == StepState::Failed;
            record.end(*state, *failure_class, keeps.then_some(reason));
            if task.item.is_some() && record.result().is_none() && !outputs.is_empty() {
                record.store_result(AttemptResult { outputs: outputs.clone(), ..AttemptResult::default() });
            }
        }
        self.agents.leave_merges(task);
        let end = TaskEnd { state: *state, standing: *standing, allowed_to_fail: *allowed_to_fail, at };
        task_end::end(self, plan, task, end, outputs);
    }

    fn begin(&mut self, plan: &Plan, at: Moment) {
        self.started = Some(at);
        let main = plan.parts().main.min(self.steps.len());
        let free = |step: &u32| self.step_record(*step).waiting == 0;
        let free: Vec<u32> = (0_u32..).take(main).filter(free).collect();
        for step in free {
            task_end::becomes_due(self, step, at);
        }
        for record in self.steps.iter_mut().skip(main).filter(|record| record.waiting == 0) {
            record.ready = Some(at);
        }
    }

    fn reuse_step(&mut self, plan: &Plan, at: Moment, kind: &EventKind) {
        let EventKind::StepReused { step, outputs, standing, evidence, .. } = kind else {
            return;
        };
        let Some(ix) = plan.find(step.as_str()) else {
            return;
        };
        let task = TaskIx { step: ix.0, item: None };
        task_end::end(self, plan, task, TaskEnd::reused(*standing, at), outputs);
        self.step_record_mut(ix.0).outputs = Some(Box::new(outputs.clone()));
        if !evidence.is_empty() {
            self.proof.add_evidence([task]);
        }
    }

    fn expand(&mut self, plan: &Plan, at: Moment, step: &Name, items: &[StepItem]) {
        let Some(ix) = plan.find(step.as_str()) else {
            return;
        };
        let open = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let room = plan.step(ix).max_parallel.unwrap_or(u32::MAX).min(open);
        let task = |item| TaskIx { step: ix.0, item: Some(item) };
        let record = |item| self.made.get(&task(item)).cloned().unwrap_or_default();
        let records = (0..open).map(record).collect();
        let with_evidence = (0_u32..).zip(items).filter(|(_, item)| {
            let earlier = self.earlier_result(ix.0, item);
            earlier.is_some_and(|earlier| earlier.has_evidence && earlier.is_of(item))
        });
        let with_evidence: Vec<TaskIx> = with_evidence.map(|(item, _)| task(item)).collect();
        self.proof.add_evidence(with_evidence);
        let many = StepItems { items: items.to_vec(), records, open, next: room };
        let record = self.step_record_mut(ix.0);
        record.many = Some(Box::new(many));
        record.ready = Some(at);
        record.state = StepState::Queued;
        self.move_task(TaskIx { step: ix.0, item: None }, TaskPhase::Pending);
        for item in 0..room {
            self.move_task(task(item), TaskPhase::Queued);
        }
    }

    pub(in crate::machine::state) fn start_attempt(
        &mut self,
        plan: &Plan,
        at: Moment,
        attempt: &Attempt,
        doing: ActivityKind,
    ) {
        let Some(task) = state::find_task_ix(plan, &attempt.task_id) else {
            return;
        };
        let room = doing != ActivityKind::Working || takes_room(plan, task);
        let activity = TaskActivity { attempt: attempt.attempt, since: at, doing, room };
        self.move_task(task, TaskPhase::Active(activity));
        if let Some(record) = self.task_record_mut(task) {
            record.start_attempt(attempt.attempt);
        }
        self.set_step_state(task, StepState::Running);
    }

    fn apply_work_end(&mut self, plan: &Plan, attempt: &Attempt, exit: &WorkExit, result: AttemptResult) {
        let Some(task) = state::find_task_ix(plan, &attempt.task_id) else {
            return;
        };
        if exit.is_success() {
            self.store_result(plan, &attempt.task_id, result);
            self.set_activity(task, after_work(plan, attempt));
            self.set_step_state(task, StepState::Verifying);
        } else if self.activity(task).is_some() {
            self.move_task(task, TaskPhase::Undecided);
        }
    }

    fn store_result(&mut self, plan: &Plan, task_id: &TaskId, result: AttemptResult) {
        if let Some(record) = self.named_record_mut(plan, task_id) {
            record.store_result(result);
        }
    }

    fn enter_phase(&mut self, plan: &Plan, at: Moment, phase: RunPhase) {
        self.phase = phase;
        self.next_finally(plan.parts().main, at);
    }

    /// Makes due the first open `finally` step from an index on, once the run is in their phase.
    pub(in crate::machine::state) fn next_finally(&mut self, from: usize, at: Moment) {
        let rest = self.steps.iter().skip(from);
        let open = rest.take_while(|record| record.state.is_final()).count() + from;
        if self.phase == RunPhase::Finally && open < self.steps.len() {
            task_end::becomes_due(self, u32::try_from(open).unwrap_or(u32::MAX), at);
        }
    }
}

/// Returns the activity after the work of an attempt: its gates, if it has any, else its checks.
fn after_work(plan: &Plan, attempt: &Attempt) -> ActivityKind {
    let task = state::find_task_ix(plan, &attempt.task_id);
    if task.is_some_and(|task| has_gates(plan, Some(task), GatePoint::Leave)) {
        ActivityKind::Leaving
    } else {
        ActivityKind::Checking
    }
}
