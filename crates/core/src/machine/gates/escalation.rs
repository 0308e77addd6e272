//! The consequences of a gate's block (Silas 5.1.1).

use std::collections::BTreeSet;

use crate::{
    gate::{self, GateResult, ResolvedEscalation},
    machine::{
        gates::{
            approvals::{self, ApprovalDraft},
            points,
        },
        state::{
            self, Run, TaskIx, fold::task_end::TaskCompletion, follow_up::FollowUp,
            parts::task_record::TaskRecord, task_phase::ActivityKind,
        },
        words::{EventKind, GatePoint, RunBlock, Standing, gates_at},
    },
};
use wf_base::name::GateId;
use wf_model::{EngineFailure, Escalation, EscalationAction, FailureClass, JsonObject};

/// A block, with its reason.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::machine) struct GateBlock {
    pub(in crate::machine) gate: GateId,
    pub(in crate::machine) reason: String,
    /// True if the gate failed, and blocks only to be safe.
    pub(in crate::machine) failed: bool,
    /// The next escalation, if it is not the gate's own.
    pub(in crate::machine) next: Option<String>,
    /// The escalations already used.
    pub(in crate::machine) tried_escalations: BTreeSet<String>,
    /// The results of other gates that did not pass: they count once this block is lifted.
    pub(in crate::machine) rest: Vec<GateResult>,
    /// The parts that gates rewrote.
    pub(in crate::machine) rewritten: JsonObject,
}

impl GateBlock {
    /// Creates a block that has not been handled yet.
    pub(in crate::machine) fn new(gate: GateId, reason: String) -> Self {
        Self {
            gate,
            reason,
            failed: false,
            next: None,
            tried_escalations: BTreeSet::new(),
            rest: Vec::new(),
            rewritten: JsonObject::new(),
        }
    }

    pub(in crate::machine) fn reason(&self, message: Option<&str>) -> String {
        let said = message.filter(|message| !message.is_empty());
        match (said, self.reason.is_empty()) {
            (Some(message), true) => format!("gate `{}`: {message}", self.gate),
            (Some(message), false) => format!("gate `{}`: {message} ({})", self.gate, self.reason),
            (None, true) => format!("blocked by gate `{}`", self.gate),
            (None, false) => format!("gate `{}`: {}", self.gate, self.reason),
        }
    }
}

/// Handles a block: runs its escalations one after the other, until one has had an effect.
pub(in crate::machine) fn block(run: &mut Run, task: Option<TaskIx>, point: GatePoint, mut block: GateBlock) {
    let gates = gates_at(run.plan(), task.map(TaskIx::ix), point);
    let gate = gates.filter(|gate| gate.id == block.gate).last().cloned();
    // A block of the plan of an escalation stands: the plan is started once.
    let is_spawned = task.is_some_and(|task| run.plan().step(task.ix()).on_escalation);
    let Some(gate) = gate.filter(|_| !is_spawned) else {
        return give_up(run, task, point, &block, &block.reason(None));
    };
    let plan = std::sync::Arc::clone(run.plan());
    let known = &plan.parts().escalations;
    let named = block.next.take().filter(|name| !block.tried_escalations.contains(name));
    let own = gate.on_block.clone().filter(|_| block.tried_escalations.is_empty());
    let first = named.or(own);
    let mut next = first.map(|name| gate::escalation(Some(&name), &gate, known));
    while let Some(ResolvedEscalation { escalation, warning }) = next {
        block.tried_escalations.insert(escalation.name.clone());
        if let Some(warning) = warning {
            block.reason = format!("{} ({warning})", block.reason);
        }
        if escalate(run, task, point, &block, &escalation) {
            return;
        }
        let tried_escalations: Vec<&str> = block.tried_escalations.iter().map(String::as_str).collect();
        next = gate::next_escalation(&escalation, &tried_escalations, &gate, known);
    }
    give_up(run, task, point, &block, &block.reason(None));
}

/// Runs an escalation; false if it has nothing left to do.
fn escalate(
    run: &mut Run,
    task: Option<TaskIx>,
    point: GatePoint,
    block: &GateBlock,
    escalation: &Escalation,
) -> bool {
    let message = escalation.message.as_deref();
    match escalation.action {
        EscalationAction::Respond | EscalationAction::Report => {
            record_escalation(run, task, block, escalation);
            give_up(run, task, point, block, &block.reason(message));
            true
        }
        EscalationAction::SuppressAndEscalate => {
            record_escalation(run, task, block, escalation);
            if escalation.fallback.is_none() {
                give_up(run, task, point, block, &block.reason(message));
            }
            escalation.fallback.is_none()
        }
        EscalationAction::Retry | EscalationAction::SuppressAndRephrase => {
            let tried = match task.and_then(|task| run.state().task_record(task)) {
                Some(record) => record.gate_tries(),
                None => run.state().gates.gate_tries(),
            };
            let left = tried < escalation.max_retries;
            if left {
                record_escalation(run, task, block, escalation);
                try_again(run, task, point, &block.reason(message));
            }
            left
        }
        EscalationAction::TransferToQueue if escalation.queue.is_none() => false,
        EscalationAction::EscalateHuman | EscalationAction::TransferToQueue => {
            record_escalation(run, task, block, escalation);
            let plea = ApprovalDraft {
                message: block.reason(message),
                block: block.clone(),
                fallback: escalation.fallback.clone(),
                queue: escalation.queue.clone(),
            };
            approvals::ask_people(run, task, point, plea);
            true
        }
        EscalationAction::SpawnTask => spawn_task(run, task, point, block, escalation),
    }
}

/// Lets a block stand and has the step of the escalation run at the end. False before the run begins: its approval may
/// be missing, too.
fn spawn_task(
    run: &mut Run,
    task: Option<TaskIx>,
    point: GatePoint,
    block: &GateBlock,
    escalation: &Escalation,
) -> bool {
    let step = run.plan().find(&escalation.name).filter(|ix| run.plan().step(*ix).on_escalation);
    if step.is_none() || point == GatePoint::Start {
        return false;
    }
    let reason = block.reason(escalation.message.as_deref());
    let asked = Escalation { rephrase: Some(reason.clone()), ..escalation.clone() };
    record_escalation(run, task, block, &asked);
    give_up(run, task, point, block, &format!("{reason}; step `{}` follows at the end", escalation.name));
    true
}

fn record_escalation(run: &mut Run, task: Option<TaskIx>, block: &GateBlock, escalation: &Escalation) {
    let said = escalation.rephrase.as_ref().or(escalation.message.as_ref());
    run.emit(EventKind::Escalated {
        task_id: task.map(|task| state::task_id(run.plan(), task)),
        gate: block.gate.clone(),
        name: escalation.name.clone(),
        action: escalation.action,
        message: said.cloned().unwrap_or_default(),
    });
}

/// Asks the gates again; after the work of an attempt, with a new attempt.
fn try_again(run: &mut Run, task: Option<TaskIx>, point: GatePoint, reason: &str) {
    let Some(task) = task else {
        return points::ask_gates(run, None, point, None);
    };
    let made = run.state().task_record(task).map_or(0, TaskRecord::attempts);
    let next = made.checked_add(1).filter(|_| point == GatePoint::Leave);
    let Some(next) = next else {
        return run.enqueue(task);
    };
    let attempt = state::attempt(run.plan(), task, next);
    run.then(FollowUp::ScheduleAttempt { attempt, reason: reason.to_owned() });
}

/// Lets a block stand.
pub(in crate::machine) fn give_up(
    run: &mut Run,
    task: Option<TaskIx>,
    point: GatePoint,
    block: &GateBlock,
    reason: &str,
) {
    let Some(task) = task else {
        let (gate, reason) = (block.gate.clone(), reason.to_owned());
        run.emit(EventKind::RunBlocked(RunBlock { gate, reason }));
        return after_block(run, point);
    };
    let standing = match point {
        GatePoint::Leave => Standing::Reported,
        // A task that failed verification before stays so, though it is not done again.
        GatePoint::Again if was_refuted(run, task) => Standing::Refuted,
        _ => Standing::Unchecked,
    };
    let live = run.state().activity(task);
    debug_assert!(live.is_none_or(|live| live.doing != ActivityKind::Working));
    let failure_class = if block.failed { EngineFailure::Sensor.class() } else { FailureClass::Logical };
    let end = TaskCompletion::failure(standing, Some(failure_class), reason.to_owned());
    run.then(FollowUp::EndTask { task, completion: end });
}

/// True if the last attempt of a task failed verification.
fn was_refuted(run: &Run, task: TaskIx) -> bool {
    let tries = run.state().task_record(task).and_then(|record| record.history_of_round());
    tries.is_some_and(|tries| !tries.failed.is_empty())
}

/// Ends the work that a blocked run no longer does.
fn after_block(run: &mut Run, point: GatePoint) {
    match point {
        GatePoint::Publish => run.then(FollowUp::BeginFinally),
        _ => run.then(FollowUp::Sweep),
    }
}
