//! The rooms of the inputs: each goes to the room of its question.

use crate::machine::{
    agents::{agent, children, client, compaction, exchange, guidance, merging, tool_approval},
    gates::{answers, points},
    proof::{checks, confirm},
    rounds::{memory, planner},
    state::Run,
    tasks::{admit, budget, cancel, finish, generated, opening, timeouts},
    words::{InputKind, TimerKind},
};

/// Applies an input. The work of other rooms is left.
pub(in crate::machine) fn on_input(run: &mut Run, input: InputKind) {
    match input {
        InputKind::Begin { kept, left, dropped, baseline, approved, advice, intent } => {
            if !run.has_begun() {
                opening::begin(run, approved, baseline);
                for one in dropped {
                    run.emit(one.into());
                }
                opening::reuse_results(run, kept, left);
                memory::apply_memory_advice(run, advice, intent);
                points::gate_start(run);
            }
        }
        InputKind::Briefed { briefing, mistake } => agent::on_briefing(run, *briefing, mistake),
        InputKind::Replied { end, mistake } => agent::on_model_reply(run, *end, mistake),
        InputKind::ToolEnded(end) => agent::on_tool_end(run, end),
        InputKind::ClientCalled { attempt, call, tools } => {
            client::on_client_call(run, &attempt, call, tools);
        }
        InputKind::ClientEnded { attempt, exit, answer, mistake } => {
            client::on_client_end(run, &attempt, exit, answer, mistake);
        }
        InputKind::ChildEnded(end) => children::on_child_end(run, *end),
        InputKind::Ended(ended) => finish::on_attempt_end(run, ended),
        InputKind::Generated(made) => generated::on_plan_generated(run, made),
        InputKind::MergePrepared { attempt, merge } => merging::on_merge_prepared(run, &attempt, merge),
        InputKind::Merged(end) => merging::on_merged(run, &end.attempt, end.outcome),
        InputKind::Judged { attempt: Some(attempt), phase, verdicts, seen } => {
            checks::on_verdicts(run, &attempt, phase, verdicts, seen);
        }
        InputKind::Judged { attempt: None, phase, verdicts, .. } => {
            checks::on_plan_verdicts(run, phase, verdicts);
        }
        InputKind::Woke { timer } => on_timer(run, timer),
        InputKind::Locked { task_id } => admit::on_lock_acquired(run, &task_id),
        InputKind::LockHeld { task_id } => admit::on_lock_held(run, &task_id),
        InputKind::LockRefused { task_id, reason, is_replaced } => {
            admit::on_lock_refused(run, &task_id, reason, is_replaced);
        }
        InputKind::Looked { task_id, found } => admit::on_cache_lookup(run, &task_id, found),
        InputKind::Stale(stale) => confirm::on_stale_evidence(run, stale),
        InputKind::Confirmed { stale } => confirm::on_confirmation(run, stale),
        InputKind::Gated { gated, tool_call: Some(id), arguments, .. } => {
            tool_approval::on_tool_gates(run, &id, gated, arguments);
        }
        InputKind::Gated { point, gated, exchange: Some(exchange), .. } => {
            exchange::on_exchange_gates(run, point, &gated, *exchange);
        }
        InputKind::Gated { task_id, point, gated, .. } => {
            points::on_gates(run, task_id.as_ref(), point, gated);
        }
        InputKind::Answered { number, given } => answers::on_approval_outcome(run, number, given),
        InputKind::Planned(reply) => planner::on_planner_reply(run, reply),
        InputKind::Guided(reply) => guidance::on_guidance(run, reply),
        InputKind::Compacted(reply) => compaction::on_compacted(run, *reply),
        InputKind::Cancel { reason } => cancel::cancel(run, reason),
    }
}

fn on_timer(run: &mut Run, timer: TimerKind) {
    match timer {
        TimerKind::Retry(attempt) => timeouts::on_retry_due(run, &attempt),
        TimerKind::Wait(attempt) => timeouts::end_wait(run, attempt),
        TimerKind::Agent(attempt) => agent::on_agent_timeout(run, attempt),
        TimerKind::Queue(task_id) => timeouts::on_queue_timeout(run, &task_id),
        TimerKind::Ask { number } => answers::on_request_expired(run, number),
        TimerKind::Budget { ms } => budget::on_budget_timer(run, ms),
        TimerKind::Run => timeouts::on_run_timeout(run),
    }
}
