//! The outcome of a tool call, whoever carried it out.

use wf_base::redact::SecretMask;
use wf_core::{
    agent::{ToolCall, ToolResult, answer_text, untrusted_block},
    health::BreakerNote,
    machine::PersonAnswer,
};
use wf_exec::agent_tool::ToolOutcome;

/// The outcome of a tool call of an agent.
pub(super) struct CallOutcome {
    /// The text, masked and cut.
    pub(super) text: String,
    pub(super) is_error: bool,
    /// The source of the text, if it is from outside.
    pub(super) outside: Option<String>,
    /// The change of a breaker it caused.
    pub(super) breaker: Option<BreakerNote>,
}

impl CallOutcome {
    /// Creates the outcome of a call carried out.
    pub(super) fn done(text: String, outside: Option<String>) -> Self {
        Self { text, is_error: false, outside, breaker: None }
    }

    /// Creates the outcome of a call not carried out, or failed.
    pub(super) fn failed(text: String) -> Self {
        Self { is_error: true, ..Self::done(text, None) }
    }

    /// Creates the outcome of a process.
    pub(super) fn of_process(outcome: ToolOutcome, source: String) -> Self {
        let ToolOutcome { text, is_error, is_untrusted, .. } = outcome;
        Self { is_error, ..Self::done(text, is_untrusted.then_some(source)) }
    }

    /// Creates the outcome of a question answered by people.
    pub(super) fn answered(answer: &PersonAnswer, mask: &SecretMask) -> Self {
        Self::done(mask.text(&answer_text(answer)).into_owned(), None)
    }

    /// Returns the result for the model.
    pub(super) fn result(&self, call: &ToolCall) -> ToolResult {
        let text = match &self.outside {
            Some(source) => untrusted_block(source, &self.text),
            None => self.text.clone(),
        };
        ToolResult { id: call.id.clone(), text, is_error: self.is_error }
    }
}
