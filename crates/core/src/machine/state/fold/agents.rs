//! The fold of the facts about agents, their child runs, and their questions.

use std::time::Duration;

use crate::{
    agent::ChildRequest,
    machine::{
        state::{MachineState, TaskIx, task_phase::ActivityKind},
        words::{
            AgentRecord, AgentTurn, ApprovalOutcome, ApprovalRequest, Attempt, ChildId, ChildPhase,
            ChildRecord, ClientRepair, CompactionEnd, CompactionStart, EventKind, PersonAnswer, StepState,
            ToolCallEnd, ToolCallId, ToolCallSubject, ToolRecord,
            agents::{agent_record::ClientRepairRecord, compaction_event::CompactionRecord},
        },
    },
};
use wf_base::time::Moment;
use wf_model::Plan;

/// Applies a fact about an agent.
pub(in crate::machine::state) fn apply_to_agent(
    state: &mut MachineState,
    plan: &Plan,
    at: Moment,
    kind: &EventKind,
) {
    match kind {
        EventKind::AgentBriefed(briefing) => {
            if let Some(record) = state.named_record_mut(plan, &briefing.attempt.task_id) {
                record.brief_agent(briefing);
            }
        }
        EventKind::ModelCallStarted(start) => {
            if let Some(record) = agent_record_mut(state, plan, &start.attempt) {
                record.turns.push(AgentTurn {
                    repairs: start.repairs.clone(),
                    context: start.context.clone(),
                    client: start.client,
                    supplement: std::mem::take(&mut record.supplement),
                    ..AgentTurn::default()
                });
            }
        }
        EventKind::ModelCallEnded(end) => {
            if let Some(turn) = agent_turn_mut(state, plan, &end.attempt) {
                turn.end_call(end);
            }
        }
        EventKind::ToolCallStarted(start) => {
            let turn = agent_turn_mut(state, plan, &start.id.attempt);
            let calls = turn.map(|turn| turn.calls_of_tool(start.id.position)).unwrap_or_default();
            if let Some(record) = state.named_record_mut(plan, &start.id.attempt.task_id) {
                record.note_calls(&calls);
            }
            push_tool(state, plan, &start.id.attempt, ToolRecord::Started);
            begin_collect(state, plan, at, &start.id);
        }
        EventKind::ToolCallRefused(refusal) => {
            push_tool(state, plan, &refusal.id.attempt, ToolRecord::Refused(refusal.reason.clone()));
        }
        EventKind::ToolCallEnded(end) => end_tool(state, plan, at, end),
        EventKind::ExchangeGated(gated) => {
            if let Some(record) = agent_record_mut(state, plan, &gated.attempt) {
                record.take_ruling(gated);
            }
            let added = gated.supplement.context.as_ref();
            if let Some(record) = state.named_record_mut(plan, &gated.attempt.task_id) {
                record.note_untrusted(added.and_then(|added| added.untrusted.as_ref()));
            }
        }
        EventKind::AgentEnded(end) => {
            if let Some(record) = agent_record_mut(state, plan, &end.attempt) {
                (record.exit, record.answer) = (Some(end.exit.clone()), end.answer);
            }
        }
        EventKind::ClientRepairStarted(repair) => begin_client_repair(state, plan, repair),
        EventKind::CompactionStarted(CompactionStart { attempt, call, groups }) => {
            if let Some(record) = agent_record_mut(state, plan, attempt) {
                let groups = groups.clone();
                record.compaction = Some(Box::new(CompactionRecord { call: *call, groups, outcome: None }));
            }
        }
        EventKind::CompactionEnded(end) => end_compaction(state, plan, at, end),
        _ => apply_to_children(state, plan, kind),
    }
}

/// Applies the answer of the compactor.
fn end_compaction(state: &mut MachineState, plan: &Plan, at: Moment, end: &CompactionEnd) {
    state.agents.note_compaction(&end.outcome, at);
    let record = agent_record_mut(state, plan, &end.attempt);
    if let Some(compaction) = record.and_then(|record| record.compaction.as_mut()) {
        compaction.outcome = Some(end.outcome.clone());
    }
}

/// Applies the end of a tool call.
fn end_tool(state: &mut MachineState, plan: &Plan, at: Moment, end: &ToolCallEnd) {
    if let Some(record) = agent_record_mut(state, plan, &end.id.attempt) {
        record.person_answer = None;
    }
    let turn = agent_turn_mut(state, plan, &end.id.attempt);
    if let Some(tool) = turn.and_then(|turn| turn.tools.get_mut(end.id.position as usize)) {
        *tool = ToolRecord::Ended { result: end.result, tokens: end.tokens, gated: false };
    }
    if let Some(record) = state.named_record_mut(plan, &end.id.attempt.task_id) {
        record.note_untrusted(end.untrusted.as_ref());
    }
    end_collect(state, plan, at, &end.id.attempt);
}

/// Adds a tool call. An approval is used up with it.
fn push_tool(state: &mut MachineState, plan: &Plan, attempt: &Attempt, tool: ToolRecord) {
    if let Some(record) = agent_record_mut(state, plan, attempt) {
        record.approved = false;
        if let Some(turn) = record.turns.last_mut() {
            turn.tools.push(tool);
        }
    }
}

pub(in crate::machine::state) fn agent_record_mut<'a>(
    state: &'a mut MachineState,
    plan: &Plan,
    attempt: &Attempt,
) -> Option<&'a mut AgentRecord> {
    state.named_record_mut(plan, &attempt.task_id)?.agent_mut()
}

fn agent_turn_mut<'a>(
    state: &'a mut MachineState,
    plan: &Plan,
    attempt: &Attempt,
) -> Option<&'a mut AgentTurn> {
    agent_record_mut(state, plan, attempt)?.turns.last_mut()
}

/// Applies a fact about a child run.
fn apply_to_children(state: &mut MachineState, plan: &Plan, kind: &EventKind) {
    match kind {
        EventKind::ChildDispatched(dispatch) => {
            if let Some(record) = agent_record_mut(state, plan, &dispatch.id.attempt)
                && let Some(ChildRequest::Dispatch(start)) = record.child_request(dispatch.id.position)
            {
                let start = start.clone();
                record.children.push(ChildRecord { start, phase: ChildPhase::Waiting });
            }
        }
        EventKind::ChildStarted(id) => set_child_phase(state, plan, id, &ChildPhase::Running),
        EventKind::ChildEnded(end) => {
            set_child_phase(state, plan, &end.id, &ChildPhase::Ended(end.clone()));
        }
        _ => {}
    }
}

/// Notes that an agent waits from now on, if a tool call is one of `collect`.
fn begin_collect(state: &mut MachineState, plan: &Plan, at: Moment, call: &ToolCallId) {
    if let Some(record) = agent_record_mut(state, plan, &call.attempt)
        && let Some(ChildRequest::Collect(_)) = record.child_request(call.position)
    {
        record.collecting_since = Some(at);
    }
}

/// Adds the time that an agent waited, if the tool call that ends is one of `collect`.
fn end_collect(state: &mut MachineState, plan: &Plan, at: Moment, attempt: &Attempt) {
    if let Some(record) = agent_record_mut(state, plan, attempt)
        && let Some(since) = record.collecting_since.take()
    {
        record.add_wait(at.since(since));
    }
}

fn set_child_phase(state: &mut MachineState, plan: &Plan, id: &ChildId, phase: &ChildPhase) {
    let record = agent_record_mut(state, plan, &id.attempt);
    let children = record.into_iter().flat_map(|record| &mut record.children);
    for child in children.filter(|child| child.start.child == id.child) {
        child.phase = phase.clone();
    }
}

/// Applies the fact that a program is begun again.
fn begin_client_repair(state: &mut MachineState, plan: &Plan, repair: &ClientRepair) {
    if let Some(record) = agent_record_mut(state, plan, &repair.attempt) {
        let (invalid, after) = (repair.invalid.clone(), record.call());
        record.client_repair = Some(Box::new(ClientRepairRecord { invalid, after }));
    }
}

/// Counts a question. That further people are asked does not make it another one.
pub(in crate::machine::state) fn note_question(
    state: &mut MachineState,
    task: TaskIx,
    subject: Option<&ToolCallSubject>,
) {
    let Some(subject) = subject.filter(|subject| subject.is_question) else {
        return;
    };
    if let Some(agent) = agent_of(state, task)
        && agent.last_question.as_ref() != Some(subject)
    {
        agent.last_question = Some(subject.clone());
        agent.questions += 1;
    }
}

/// Keeps the answer to a question for the call that gives it to the model.
pub(in crate::machine::state) fn note_person_answer(
    state: &mut MachineState,
    task: TaskIx,
    request: &ApprovalRequest,
    outcome: &ApprovalOutcome,
) {
    let is_answer = request.is_question() && request.is_granted_by(outcome.decision);
    if let Some(agent) = agent_of(state, task).filter(|_| is_answer) {
        let by = outcome.by.iter().map(|by| by.name.clone()).collect();
        agent.person_answer = Some(PersonAnswer { by, text: outcome.reason.clone() });
    }
}

fn agent_of(state: &mut MachineState, task: TaskIx) -> Option<&mut AgentRecord> {
    state.task_record_mut(task)?.agent_mut()
}

/// Lets an agent go on that waited for a decision. `approved`: the next tool call may begin.
pub(in crate::machine::state) fn return_to_agent(
    state: &mut MachineState,
    task: TaskIx,
    waited: Duration,
    approved: bool,
) {
    state.set_activity(task, ActivityKind::Working);
    state.set_step_state(task, StepState::Running);
    if let Some(agent) = agent_of(state, task) {
        agent.add_wait(waited);
        agent.approved = approved;
    }
}
