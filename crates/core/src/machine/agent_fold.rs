//! The fold of the facts about agents.

use super::state::MachineState;
use super::{AgentRecord, AgentTurn, Attempt, ChildId, ChildPhase, ChildRecord, EventKind, ToolRecord};
use crate::agent::ChildRequest;
use wf_base::time::Moment;
use wf_model::Plan;

impl MachineState {
    /// Applies a fact about an agent.
    pub(super) fn apply_to_agent(&mut self, plan: &Plan, at: Moment, fact: &EventKind) {
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
                        context: start.context,
                        client: start.client,
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
                self.push_tool(plan, &start.id.attempt, ToolRecord::Started);
                if let Some(record) = self.agent_record_mut(plan, &start.id.attempt)
                    && let Some(ChildRequest::Collect(_)) = record.child_request(start.id.position)
                {
                    record.collecting_since = Some(at);
                }
            }
            EventKind::ToolCallRefused(refusal) => {
                self.push_tool(plan, &refusal.id.attempt, ToolRecord::Refused(refusal.reason.clone()));
            }
            EventKind::ToolCallEnded(end) => {
                let turn = self.agent_turn_mut(plan, &end.id.attempt);
                if let Some(tool) = turn.and_then(|turn| turn.tools.get_mut(end.id.position as usize)) {
                    *tool = ToolRecord::Ended { result: end.result, tokens: end.tokens };
                }
                if let Some(record) = self.named_record_mut(plan, &end.id.attempt.place) {
                    record.note_untrusted(end.untrusted.as_ref());
                }
                if let Some(record) = self.agent_record_mut(plan, &end.id.attempt)
                    && let Some(since) = record.collecting_since.take()
                {
                    record.add_wait(at.since(since));
                }
            }
            EventKind::ChildDispatched(dispatch) => {
                if let Some(record) = self.agent_record_mut(plan, &dispatch.id.attempt)
                    && let Some(ChildRequest::Dispatch(start)) = record.child_request(dispatch.id.position)
                {
                    let start = start.clone();
                    record.children.push(ChildRecord { start, phase: ChildPhase::Waiting });
                }
            }
            EventKind::ChildStarted(id) => self.set_child_phase(plan, id, ChildPhase::Running),
            EventKind::ChildEnded(end) => {
                self.set_child_phase(plan, &end.id, ChildPhase::Ended(end.clone()));
            }
            EventKind::AgentEnded(end) => {
                if let Some(record) = self.agent_record_mut(plan, &end.attempt) {
                    (record.exit, record.answer) = (Some(end.exit.clone()), end.answer);
                }
            }
            _ => {}
        }
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

    fn set_child_phase(&mut self, plan: &Plan, id: &ChildId, phase: ChildPhase) {
        let record = self.agent_record_mut(plan, &id.attempt);
        let children = record.into_iter().flat_map(|record| &mut record.children);
        for child in children.filter(|child| child.start.child == id.child) {
            child.phase = phase.clone();
        }
    }

    fn agent_record_mut(&mut self, plan: &Plan, attempt: &Attempt) -> Option<&mut AgentRecord> {
        self.named_record_mut(plan, &attempt.place)?.agent.as_deref_mut()
    }

    fn agent_turn_mut(&mut self, plan: &Plan, attempt: &Attempt) -> Option<&mut AgentTurn> {
        self.agent_record_mut(plan, attempt)?.turns.last_mut()
    }
}
