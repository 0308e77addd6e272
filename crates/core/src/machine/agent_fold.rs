//! The fold of the facts about agents.

use crate::machine::state::MachineState;
use crate::machine::words::{AgentRecord, AgentTurn, Attempt, EventKind, ToolCallEnd, ToolRecord};
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
}
