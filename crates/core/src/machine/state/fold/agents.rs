//! The fold of the facts about agents, their child runs, and their questions.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::agent::ChildRequest;
use crate::machine::state::machine_state::TaskRecord;
use crate::machine::state::task_phase::ActivityKind;
use crate::machine::state::{MachineState, TaskIx};
use crate::machine::words::agents::agent_record::ClientRepairRecord;
use crate::machine::words::{
    AgentRecord, AgentTurn, ApprovalOutcome, ApprovalRequest, Attempt, ChildId, ChildPhase, ChildRecord,
    ClientRepair, EventKind, PersonAnswer, StepState, ToolCallEnd, ToolCallId, ToolCallSubject, ToolRecord,
};
use wf_base::time::Moment;
use wf_model::Plan;

impl MachineState {
    /// Applies a fact about an agent.
    pub(in crate::machine) fn apply_to_agent(&mut self, plan: &Plan, at: Moment, fact: &EventKind) {
        match fact {
            EventKind::AgentBriefed(briefing) => {
                if let Some(record) = self.named_record_mut(plan, &briefing.attempt.place) {
                    record.agent = Some(Box::new(AgentRecord::new(briefing)));
                    record.note_untrusted(briefing.untrusted.as_ref());
                }
            }
            EventKind::ModelCallStarted(start) => {
                if let Some(record) = self.agent_record_mut(plan, &start.attempt) {
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
                if let Some(turn) = self.agent_turn_mut(plan, &end.attempt) {
                    turn.end_call(end);
                }
            }
            EventKind::ToolCallStarted(start) => {
                let turn = self.agent_turn_mut(plan, &start.id.attempt);
                let calls = turn.map(|turn| turn.calls_of_tool(start.id.position)).unwrap_or_default();
                self.record_calls(plan, &start.id.attempt, &calls);
                self.push_tool(plan, &start.id.attempt, ToolRecord::Started);
                self.begin_collect(plan, at, &start.id);
            }
            EventKind::ToolCallRefused(refusal) => {
                self.push_tool(plan, &refusal.id.attempt, ToolRecord::Refused(refusal.reason.clone()));
            }
            EventKind::ToolCallEnded(end) => self.end_tool(plan, at, end),
            EventKind::ExchangeGated(gated) => {
                if let Some(record) = self.agent_record_mut(plan, &gated.attempt) {
                    record.take_ruling(gated);
                }
                let added = gated.supplement.context.as_ref();
                if let Some(record) = self.named_record_mut(plan, &gated.attempt.place) {
                    record.note_untrusted(added.and_then(|added| added.untrusted.as_ref()));
                }
            }
            EventKind::AgentEnded(end) => {
                if let Some(record) = self.agent_record_mut(plan, &end.attempt) {
                    (record.exit, record.answer) = (Some(end.exit.clone()), end.answer);
                }
            }
            EventKind::ClientRepairStarted(repair) => self.begin_client_repair(plan, repair),
            EventKind::CompactionStarted(_) | EventKind::CompactionEnded(_) => {
                self.apply_compaction(plan, at, fact);
            }
            _ => self.apply_to_children(plan, fact),
        }
    }

    /// Applies the end of a tool call.
    fn end_tool(&mut self, plan: &Plan, at: Moment, end: &ToolCallEnd) {
        if let Some(record) = self.agent_record_mut(plan, &end.id.attempt) {
            record.person_answer = None;
        }
        let turn = self.agent_turn_mut(plan, &end.id.attempt);
        if let Some(tool) = turn.and_then(|turn| turn.tools.get_mut(end.id.position as usize)) {
            *tool = ToolRecord::Ended { result: end.result, tokens: end.tokens, gated: false };
        }
        if let Some(record) = self.named_record_mut(plan, &end.id.attempt.place) {
            record.note_untrusted(end.untrusted.as_ref());
        }
        self.end_collect(plan, at, &end.id.attempt);
    }

    /// Adds a tool call. An approval is used up with it.
    fn push_tool(&mut self, plan: &Plan, attempt: &Attempt, tool: ToolRecord) {
        if let Some(record) = self.agent_record_mut(plan, attempt) {
            record.approved = false;
            if let Some(turn) = record.turns.last_mut() {
                turn.tools.push(tool);
            }
        }
    }

    pub(in crate::machine) fn agent_record_mut(
        &mut self,
        plan: &Plan,
        attempt: &Attempt,
    ) -> Option<&mut AgentRecord> {
        self.named_record_mut(plan, &attempt.place)?.agent.as_deref_mut()
    }

    fn agent_turn_mut(&mut self, plan: &Plan, attempt: &Attempt) -> Option<&mut AgentTurn> {
        self.agent_record_mut(plan, attempt)?.turns.last_mut()
    }

    /// Applies a fact about a child run.
    fn apply_to_children(&mut self, plan: &Plan, fact: &EventKind) {
        match fact {
            EventKind::ChildDispatched(dispatch) => {
                if let Some(record) = self.agent_record_mut(plan, &dispatch.id.attempt)
                    && let Some(ChildRequest::Dispatch(start)) = record.child_request(dispatch.id.position)
                {
                    let start = start.clone();
                    record.children.push(ChildRecord { start, phase: ChildPhase::Waiting });
                }
            }
            EventKind::ChildStarted(id) => self.set_child_phase(plan, id, &ChildPhase::Running),
            EventKind::ChildEnded(end) => {
                self.set_child_phase(plan, &end.id, &ChildPhase::Ended(end.clone()));
            }
            _ => {}
        }
    }

    /// Notes that an agent waits from now on, if a tool call is one of `collect`.
    fn begin_collect(&mut self, plan: &Plan, at: Moment, call: &ToolCallId) {
        if let Some(record) = self.agent_record_mut(plan, &call.attempt)
            && let Some(ChildRequest::Collect(_)) = record.child_request(call.position)
        {
            record.collecting_since = Some(at);
        }
    }

    /// Adds the time that an agent waited, if the tool call that ends is one of `collect`.
    fn end_collect(&mut self, plan: &Plan, at: Moment, attempt: &Attempt) {
        if let Some(record) = self.agent_record_mut(plan, attempt)
            && let Some(since) = record.collecting_since.take()
        {
            record.add_wait(at.since(since));
        }
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

    fn set_child_phase(&mut self, plan: &Plan, id: &ChildId, phase: &ChildPhase) {
        let record = self.agent_record_mut(plan, &id.attempt);
        let children = record.into_iter().flat_map(|record| &mut record.children);
        for child in children.filter(|child| child.start.child == id.child) {
            child.phase = phase.clone();
        }
    }

    /// Applies the fact that a program is begun again.
    fn begin_client_repair(&mut self, plan: &Plan, repair: &ClientRepair) {
        if let Some(record) = self.agent_record_mut(plan, &repair.attempt) {
            let (invalid, after) = (repair.invalid.clone(), record.call());
            record.client_repair = Some(Box::new(ClientRepairRecord { invalid, after }));
        }
    }

    /// Counts a question. That further people are asked does not make it another one.
    pub(in crate::machine) fn note_question(&mut self, task: TaskIx, subject: Option<&ToolCallSubject>) {
        let Some(subject) = subject.filter(|subject| subject.is_question) else {
            return;
        };
        if let Some(agent) = self.agent_of(task)
            && agent.last_question.as_ref() != Some(subject)
        {
            agent.last_question = Some(subject.clone());
            agent.questions += 1;
        }
    }

    /// Keeps the answer to a question for the call that gives it to the model.
    pub(in crate::machine) fn note_person_answer(
        &mut self,
        task: TaskIx,
        ask: &ApprovalRequest,
        given: &ApprovalOutcome,
    ) {
        let is_answer = ask.is_question() && ask.is_granted_by(given.decision);
        if let Some(agent) = self.agent_of(task).filter(|_| is_answer) {
            let by = given.by.iter().map(|by| by.name.clone()).collect();
            agent.person_answer = Some(PersonAnswer { by, text: given.reason.clone() });
        }
    }

    fn agent_of(&mut self, task: TaskIx) -> Option<&mut AgentRecord> {
        self.task_record_mut(task)?.agent.as_deref_mut()
    }

    /// Lets an agent go on that waited for a decision. `approved`: the next tool call may begin.
    pub(in crate::machine) fn return_to_agent(&mut self, task: TaskIx, waited: Duration, approved: bool) {
        self.set_activity(task, ActivityKind::Working);
        self.set_step_state(task, StepState::Running);
        if let Some(agent) = self.task_record_mut(task).and_then(|record| record.agent.as_mut()) {
            agent.add_wait(waited);
            agent.approved = approved;
        }
    }
}

impl TaskRecord {
    /// Notes the source of untrusted text that an agent was given; the first one stays.
    fn note_untrusted(&mut self, source: Option<&String>) {
        if self.untrusted.is_none() {
            self.untrusted = source.cloned();
        }
    }
}
