//! The parts of an agent's conversation that gates let pass only with an approval.
//!
//! The machinery is that of [tool calls](crate::machine::tool_approval). **Invariant:** a yes records the decision that was signed,
//! about exactly this part, and no other: what comes next is asked about anew.

use serde_json::Value;

use crate::gate::GateResult;
use crate::machine::state::{Machine, TaskIx};
use crate::machine::words::agents::tool_subject::subject;
use crate::machine::words::reason::truncate_reason;
use crate::machine::words::{AgentExit, ApprovalRequest, EventKind, ExchangeGated, ExchangeSubject};

impl Machine {
    /// Requests the approval of a part of a conversation: that of one gate after the other.
    pub(in crate::machine) fn ask_for_exchange(
        &mut self,
        task: TaskIx,
        about: ExchangeSubject,
        shown: &Value,
        gates: Vec<GateResult>,
    ) {
        let ask = self.request_of_gates(Some(task), about.passed.point, gates);
        let message = format!("{} · {}", about.question(), ask.message);
        let message = truncate_reason(message);
        let show = shown.as_object().cloned().unwrap_or_default();
        self.open_request(ApprovalRequest { exchange: Some(about), show, message, ..ask });
    }

    /// Lets an agent go on with a part that was approved, unless a further gate asks other approvers.
    pub(in crate::machine) fn on_exchange_approved(&mut self, task: TaskIx, ask: ApprovalRequest) {
        match ask.exchange {
            Some(about) if !ask.deferred_results.is_empty() => {
                self.ask_for_exchange(task, about, &Value::Object(ask.show), ask.deferred_results);
            }
            Some(about) => {
                self.emit(EventKind::ExchangeGated(about.passed));
                self.brief_again(task);
            }
            None => {}
        }
    }

    /// Withholds a result that was not approved, and ends an agent whose call or reply was not.
    pub(in crate::machine) fn on_exchange_denied(
        &mut self,
        task: TaskIx,
        about: &ExchangeSubject,
        reason: &str,
    ) {
        let blocked = Some(format!("{} was not approved: {reason}", subject(about.passed.point)));
        let decided = ExchangeGated { revised: None, blocked, ..about.passed.clone() };
        let (attempt, exit) =
            (decided.attempt.clone(), self.exit_after(task, &decided, wf_model::FailureClass::Logical));
        self.emit(EventKind::ExchangeGated(decided));
        // Its conversation is built anew before it ends, as after a crash.
        if let Some(exit) = exit {
            self.emit(EventKind::AgentEnded(AgentExit { attempt, exit, answer: None }));
        }
        self.brief_again(task);
    }
}
