//! The rooms of the follow-ups: each is carried out by the room that does such work.

use std::sync::Arc;

use crate::machine::{
    agents::{agent, children, exchange, guidance, merging, stuck, tool_approval},
    gates::{answers, approvals, points},
    proof::{checks, confirm},
    rounds::fan_in,
    state::{
        self, Run, TaskIx, follow_up::FollowUp, parts::gates::PendingApproval, task_phase::ActivityKind,
        timers,
    },
    tasks::{admit, advance, cancel, finish, resume, retry, run_end},
    words::{ApprovalRequest, Effect, GatePoint, TimerKind},
};
use wf_model::JsonObject;

/// Carries out the follow-ups of a room, in order, and those of each before the next.
pub(in crate::machine) fn carry_out(run: &mut Run) {
    let mut open = Vec::new();
    loop {
        open.extend(run.take_follow_ups().into_iter().rev());
        let Some(next) = open.pop() else {
            return;
        };
        apply(run, next);
    }
}

fn apply(run: &mut Run, follow_up: FollowUp) {
    match follow_up {
        FollowUp::StartAttempt(task) => admit::start(run, task),
        FollowUp::EndAttempt(end) => finish::on_attempt_end(run, *end),
        FollowUp::RetryOrFail { task, made, asked, completion } => {
            retry::retry_or_fail(run, task, made, asked, completion);
        }
        FollowUp::FailOrAsk { task, made, completion } => retry::fail_or_ask(run, task, made, completion),
        FollowUp::BeginRework { task, made, looped, failure_class, reason } => {
            retry::begin_rework(run, task, made, looped, failure_class, reason);
        }
        FollowUp::RetryGuided { task, made, reason, completion } => {
            retry::retry_guided(run, task, made, reason, completion);
        }
        FollowUp::ScheduleAttempt { attempt, reason } => {
            retry::schedule_attempt(run, attempt, run.now(), reason, None);
        }
        FollowUp::EndTask { task, completion } => finish::finish(run, task, completion),
        FollowUp::StopOthers(task) => cancel::stop_others(run, task),
        FollowUp::EndRepeatedStep(step) => finish::end_repeated_step(run, step),
        FollowUp::Sweep => cancel::sweep(run),
        FollowUp::HaltTask { task, activity } => cancel::halt_task(run, task, activity),
        FollowUp::StopWork { task, activity } => cancel::stop_work(run, task, activity),
        FollowUp::KillWork { task, activity } => cancel::kill_work(run, task, activity),
        FollowUp::Publish => advance::publish(run),
        FollowUp::BeginFinally => advance::begin_finally(run),
        FollowUp::EndRun => run_end::end_run(run),
        FollowUp::AskPlanner { task, made, reason } => guidance::ask_about_attempt(run, task, made, reason),
        FollowUp::AskPeople { task, made, completion } => {
            stuck::ask_people_about(run, task, made, completion);
        }
        FollowUp::EndAgent { attempt, exit } => agent::end_agent(run, &attempt, exit, None),
        FollowUp::HoldForChildren { task, end } => children::hold_for_children(run, task, *end),
        FollowUp::AskGates { task, point, exchange } => points::ask_gates(run, task, point, exchange),
        FollowUp::AskStep(task) => approvals::ask_step(run, task),
        FollowUp::ConfirmWork { task, attempt, standing } => {
            checks::confirm_work(run, task, attempt, standing);
        }
        FollowUp::ConfirmResult(task) => checks::confirm_result(run, task),
        FollowUp::Rework { task, made, phase, failure_class, reason } => {
            checks::rework(run, task, made, phase, failure_class, reason);
        }
        FollowUp::CheckPlan => checks::check_plan(run),
        FollowUp::Conclude => confirm::conclude(run),
        FollowUp::JudgeRound => fan_in::judge_round(run),
        FollowUp::ResumeActivity { task, approved } => resume_activity(run, task, approved),
        FollowUp::ApplyGrant { pending, outputs } => apply_grant(run, *pending, outputs),
        FollowUp::ApplyRefusal { pending, reason } => apply_refusal(run, *pending, reason),
    }
}

/// Asks again for the activity of a task; `approved`: and for an early answer.
pub(in crate::machine) fn resume_activity(run: &mut Run, task: TaskIx, approved: bool) {
    let plan = Arc::clone(run.plan());
    let step = plan.step(task.ix());
    let Some(live) = run.state().activity(task) else {
        return;
    };
    let attempt = state::attempt(&plan, task, live.attempt);
    children::request_children(run, task, &attempt);
    match (live.doing, &step.work) {
        // The approval is requested again with all others.
        (ActivityKind::Asking, _) => {
            if approved {
                let asks: Vec<ApprovalRequest> = run.state().gates.requests_of(Some(task)).cloned().collect();
                for ask in asks {
                    run.push_effect(Effect::Ask(Box::new(ask)));
                }
            }
        }
        (ActivityKind::Leaving, _) => points::ask_gates(run, Some(task), GatePoint::Leave, None),
        (ActivityKind::Checking, _) => checks::confirm_result(run, task),
        // It is asked for again in its turn.
        (ActivityKind::Merging, _) => {}
        (ActivityKind::Consulting, _) => guidance::request_guidance(run, task, attempt),
        (ActivityKind::Working, work)
            if let Some((at, _)) = timers::wait_end(work, step.timeout, live.since) =>
        {
            run.set_timer(TimerKind::Wait(attempt), at);
        }
        (ActivityKind::Working, _) => {
            run.await_briefing(task, &attempt, live.since);
            resume::watch(run, task, attempt, live.since);
        }
    }
}

/// Continues with an approval in the asking room.
fn apply_grant(run: &mut Run, pending: PendingApproval, outputs: JsonObject) {
    let PendingApproval { ask, task } = &pending;
    if let (Some(phase), Some(task)) = (ask.phase, task) {
        return checks::on_phase_ignored(run, *task, phase);
    }
    if let (Some(_), Some(task)) = (&ask.tool_call, task) {
        return tool_approval::on_tool_approved(run, *task, pending.ask);
    }
    if let (Some(_), Some(task)) = (&ask.exchange, task) {
        return exchange::on_exchange_approved(run, *task, pending.ask);
    }
    if let (Some(merge), Some(task)) = (&ask.merge, task) {
        return merging::on_merge_approved(run, *task, merge);
    }
    if let (Some(stuck), Some(task)) = (&ask.stuck, task) {
        return stuck::on_stuck_answered(run, *task, stuck);
    }
    answers::on_decision_granted(run, pending, outputs);
}

/// Ends the work of a refused request, in the asking room.
fn apply_refusal(run: &mut Run, pending: PendingApproval, reason: String) {
    let PendingApproval { ask, task } = &pending;
    if let (Some(phase), Some(task)) = (ask.phase, task) {
        return checks::on_phase_not_ignored(run, *task, phase, &reason);
    }
    if let (Some(call), Some(task)) = (&ask.tool_call, task) {
        return tool_approval::on_tool_denied(run, *task, call, &reason);
    }
    if let (Some(subject), Some(task)) = (&ask.exchange, task) {
        return exchange::on_exchange_denied(run, *task, subject, &reason);
    }
    if let (Some(_), Some(task)) = (&ask.merge, task) {
        return merging::on_merge_denied(run, *task, ask, &reason);
    }
    if let (Some(stuck), Some(task)) = (&ask.stuck, task) {
        return stuck::on_stuck_denied(run, *task, stuck, &reason);
    }
    answers::on_decision_denied(run, pending, reason);
}
