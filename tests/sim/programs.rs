//! Programs of their own that work as agents: what they ask, and how they end.

use wf_base::digest::Sha256Digest;
use wf_core::machine::{Attempt, ClientCall, InputKind, ToolCallId, WorkExit};
use wf_model::FailureClass;

use super::{calls::Tool, world::World};

impl World {
    /// What the program of an agent does next: it calls the model, with what its tools did, or it ends.
    pub fn served(&self, at: usize, attempt: Attempt, call: u32, stop: bool) -> InputKind {
        if stop {
            return InputKind::ClientEnded {
                attempt,
                exit: WorkExit::Cancelled,
                answer: None,
                mistake: None,
            };
        }
        let agent = self.runs[at].durable.agents.at(&attempt.task_id);
        let mut dice = self.fates.dice(at, &format!("program of {attempt} after {call}"));
        if dice.one_in(3) {
            let mut exit = match dice.below(4) {
                0 => WorkExit::Code { code: 1 },
                _ => WorkExit::Completed,
            };
            let answer = dice.one_in(2).then(|| Sha256Digest::of_bytes(b"answer"));
            let wrong = exit.is_success() && dice.one_in(3);
            let mistake = wrong.then(|| "`n` is missing".to_owned());
            if let Some(reason) = mistake.clone() {
                exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            }
            return InputKind::ClientEnded { attempt, exit, answer, mistake };
        }
        let begun = agent.calls.last().map(|last| last.tools.as_slice()).unwrap_or_default();
        let begun = (0..).zip(begun).filter(|(_, tool)| matches!(tool, Tool::Begun));
        let positions: Vec<u32> = begun.map(|(position, _)| position).collect();
        let mut tools = Vec::new();
        for position in positions {
            if dice.one_in(8) {
                continue;
            }
            let id = ToolCallId { attempt: attempt.clone(), call, position };
            if let InputKind::ToolEnded(end) = self.tool_ended(at, id, false) {
                tools.push(end);
            }
        }
        let most = agent.limits.as_ref().map_or(0, |limits| limits.max_output);
        let call = ClientCall {
            request: Sha256Digest::of_bytes(format!("request {call}").as_bytes()),
            input: 10 + u64::from(dice.up_to(80)),
            max_output: most.min(u64::from(dice.up_to(40))),
        };
        InputKind::ClientCalled { attempt, call, tools }
    }
}
