//! The progress of a run: dependencies that ended, tasks with room, phases that are over.

use std::sync::Arc;

use crate::machine::{
    state::{
        Run, TaskIx,
        fold::task_end::TaskCompletion,
        follow_up::FollowUp,
        halting::{NOT_CHOSEN, NOT_ESCALATED},
        plan_rules::has_gates,
        scope::{self, TaskScope},
    },
    tasks::{budget, fan_out, finish, run_end},
    words::{GatePoint, RunPhase, StepState},
};
use wf_model::{StepIx, expr::Expr};

/// Decides whether a step whose dependencies have ended runs.
pub(in crate::machine) fn evaluate_due_step(run: &mut Run, step: u32) {
    let task = TaskIx { step, item: None };
    let plan = Arc::clone(run.plan());
    if run.state().step_record(step).is_over() {
        return;
    }
    let declared = plan.step(task.ix());
    let asks = declared.when.as_deref().is_some_and(Expr::asks_status);
    if run.state().is_force_cancelled() || run.state().is_ending() && !plan.is_finally(task.ix()) {
        return finish::finish(run, task, TaskCompletion::cancelled(run.ending_reason()));
    }
    if run.state().is_left_out(step) {
        return finish::finish(run, task, TaskCompletion::skipped(NOT_CHOSEN));
    }
    if let (Some(blocker), false) = (run.state().step_record(step).blocker(), asks) {
        let name = &plan.step(StepIx(blocker)).id;
        let how = match run.state().step_record(blocker).state() {
            StepState::Failed => "failed",
            StepState::Cancelled => "was cancelled",
            _ => "was skipped",
        };
        return finish::finish(run, task, TaskCompletion::skipped(format!("dependency `{name}` {how}")));
    }
    if run.state().is_closing() && !plan.is_finally(task.ix()) {
        return budget::skip_over_budget(run, task);
    }
    if declared.on_escalation && run.state().gates.block_behind(step).is_none() {
        return finish::finish(run, task, TaskCompletion::skipped(NOT_ESCALATED));
    }
    if let Some(when) = &declared.when {
        let view = TaskScope { plan: &plan, state: run.state(), task: Some(task) };
        match scope::evaluate_condition(&view, when) {
            Ok(true) => {}
            Ok(false) => {
                let reason = format!("condition is false: {}", when.source());
                return finish::finish(run, task, TaskCompletion::skipped(reason));
            }
            Err(error) => return finish::finish(run, task, TaskCompletion::unstartable(error.to_string())),
        }
    }
    fan_out::unfold(run, task, &declared.fan);
}

/// Enters the next phase if this one is over. True if it did.
pub(in crate::machine) fn next_phase(run: &mut Run) -> bool {
    if run.is_planning() {
        return false;
    }
    match run.state().phase() {
        RunPhase::Steps if run.has_begun() && run.state().have_steps_ended() => {
            let bad = run.state().failed_step().is_some() || run.state().is_closing();
            if bad || run.plan().parts().verify.is_empty() {
                run.then(FollowUp::JudgeRound);
            } else {
                run.enter_phase(RunPhase::Verify);
                run.then(FollowUp::CheckPlan);
            }
            true
        }
        RunPhase::Gates if run.state().have_steps_ended() && run.state().have_finally_ended() => {
            run.then(FollowUp::Conclude);
            true
        }
        RunPhase::Finally if run.state().have_finally_ended() => {
            run.then(FollowUp::Conclude);
            true
        }
        // A forced end does not wait for evidence to be checked again.
        RunPhase::Confirm if run.state().is_force_cancelled() => {
            run_end::end_run(run);
            true
        }
        _ => false,
    }
}

/// Lets gates look at the outputs of a run that succeeds, and ends every other.
pub(in crate::machine) fn publish(run: &mut Run) {
    let accepted = run.state().control.accepted_criteria().is_some();
    if run.state().control.abandon_reason().is_some() {
        return begin_finally(run);
    }
    let bad = run.state().failed_step().is_some() || run.state().is_closing();
    let is_verified = !run.state().proof.is_refuted();
    if (!bad && is_verified || accepted) && has_gates(run.plan(), None, GatePoint::Publish) {
        run.enter_phase(RunPhase::Publish);
        let (task, point) = (None, GatePoint::Publish);
        run.then(FollowUp::AskGates { task, point, exchange: None });
    } else {
        begin_finally(run);
    }
}

/// Continues with the `finally` steps, or with the end of the run.
pub(in crate::machine) fn begin_finally(run: &mut Run) {
    if run.plan().parts().main < run.plan().steps().len() {
        run.enter_phase(RunPhase::Finally);
    } else {
        run.then(FollowUp::Conclude);
    }
}
