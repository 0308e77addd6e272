//! A tool call of a conversation: what was asked for, what came of it, and who let it pass.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{page::ExchangeScope, text::ExchangeText};
use wf_base::{keywords, time::Moment, units::elapsed};
use wf_core::{
    agent::{ToolCall, ToolResult},
    gate::GateAction,
};
use wf_report::record::{CallApproval, CallGate, DiffLine, ModelCallRecord, ToolCallRecord, ToolCallText};

/// The most lines of a diff.
const MAX_DIFF_LINES: usize = 400;

/// A tool call, with its arguments and its result.
#[derive(Debug, Serialize)]
pub struct ExchangeTool {
    /// Its number in the reply, from 1.
    pub number: usize,
    /// Its address in its run, as commands name it.
    pub address: String,
    /// The tool, its object, its exit and its duration, in one line.
    pub summary: String,
    pub state: &'static str,
    /// The lines of an edit; empty: it is none.
    pub diff: Vec<DiffLine>,
    /// The script, the new content or the arguments; empty for an edit.
    pub arguments: ExchangeText,
    pub is_script: bool,
    /// The result, as the model got it; empty without one.
    pub result: ExchangeText,
    /// The reason why it was not executed, or its result kept from the model.
    pub refused: Option<String>,
    /// The source of the result, if that is not trusted.
    pub untrusted: Option<String>,
    pub gates: Vec<ExchangeGate>,
    pub approvals: Vec<ExchangeApproval>,
}

keywords! {
    /// The state of a tool call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ToolCallState {
        /// It was not decided about yet.
        NotBegun = "pending",
        Running = "running",
        Ok = "ok",
        Failed = "failed",
        /// It was not executed.
        Refused = "refused",
        /// It was executed, and a gate kept its result from the model.
        Withheld = "withheld",
    }
}

/// The answer of a gate.
#[derive(Debug, Serialize)]
pub struct ExchangeGate {
    pub gate: String,
    pub action: &'static str,
    pub reason: String,
    /// True if it let the call pass without a change.
    pub is_silent: bool,
}

/// A request for the approval of a call.
#[derive(Debug, Serialize)]
pub struct ExchangeApproval {
    /// The number of the request in the run.
    pub request: u32,
    pub message: String,
    /// The decision; absent while it is pending.
    pub decision: Option<&'static str>,
    /// The people who decided.
    pub people: Vec<String>,
    pub at: Option<Moment>,
    pub reason: String,
}

impl ExchangeTool {
    /// Reads a tool call by its position in the reply.
    pub(super) fn read(
        scope: &ExchangeScope<'_>,
        turn: &ModelCallRecord,
        address: &str,
        asked_call: &ToolCall,
        position: usize,
    ) -> Self {
        let record = turn.tools.get(position);
        let state = state_of(record);
        let text = ToolCallText::of_call(asked_call);
        let result = result_of(scope, record);
        let mut words = vec![text.summary];
        words.extend(exit_of(&asked_call.tool, &result.text));
        let took = record.and_then(|record| record.duration_ms);
        words.extend(took.map(|millis| elapsed(std::time::Duration::from_millis(millis))));
        let own = |at: Option<u32>| at.and_then(|at| usize::try_from(at).ok()) == Some(position);
        let mut diff = text.diff;
        let is_long = diff.len() > MAX_DIFF_LINES;
        diff.truncate(MAX_DIFF_LINES);
        let mut arguments = ExchangeText::new(text.text);
        if is_long {
            arguments.cut = Some(wf_base::units::size(asked_call.arguments.len() as u64));
        }
        Self {
            number: position + 1,
            address: format!("{address}.{}", position + 1),
            summary: words.join(" · "),
            state: state.as_str(),
            diff,
            arguments,
            is_script: text.is_script,
            result,
            refused: record.and_then(|record| record.refused.clone()),
            untrusted: record.and_then(|record| record.untrusted.clone()),
            gates: gates_of(&turn.gates, own),
            approvals: approvals_of(&turn.approvals, scope.decided, own),
        }
    }

    pub(super) fn size(&self) -> usize {
        let diff: usize = self.diff.iter().map(|line| line.text.len()).sum();
        diff + self.arguments.size() + self.result.size()
    }
}

fn state_of(record: Option<&ToolCallRecord>) -> ToolCallState {
    match record {
        None => ToolCallState::NotBegun,
        Some(record) if record.is_withheld => ToolCallState::Withheld,
        Some(record) if record.refused.is_some() => ToolCallState::Refused,
        Some(record) if record.result.is_none() => ToolCallState::Running,
        Some(record) if record.is_error => ToolCallState::Failed,
        Some(_) => ToolCallState::Ok,
    }
}

fn result_of(scope: &ExchangeScope<'_>, record: Option<&ToolCallRecord>) -> ExchangeText {
    let Some(digest) = record.and_then(|record| record.result) else {
        return ExchangeText::default();
    };
    ExchangeText::new(scope.body::<ToolResult>(&digest).map_or_else(|problem| problem, |result| result.text))
}

/// Returns how a script ended: the engine writes that in brackets on the last line of its result.
fn exit_of(tool: &str, result: &str) -> Option<String> {
    // A result from outside is in a marked block.
    let result = result.trim_end().trim_end_matches("</untrusted>").trim_end();
    let last = result.lines().next_back().filter(|_| tool == "run")?;
    let words = last.strip_prefix('[')?.strip_suffix(']')?;
    Some(words.replace("exit code ", "exit "))
}

/// Returns the answers of gates whose position is wanted.
pub(super) fn gates_of(gates: &[CallGate], is_own: impl Fn(Option<u32>) -> bool) -> Vec<ExchangeGate> {
    let own = gates.iter().filter(|gate| is_own(gate.position));
    let shown = own.map(|gate| ExchangeGate {
        gate: gate.result.gate.to_string(),
        action: gate.result.action.as_str(),
        reason: gate.result.reason.clone(),
        is_silent: gate.result.action == GateAction::Continue && gate.result.changed.is_empty(),
    });
    shown.collect()
}

/// Returns the approvals whose position is wanted, with the times of their decisions.
pub(super) fn approvals_of(
    approvals: &[CallApproval],
    decided: &BTreeMap<u32, Moment>,
    is_own: impl Fn(Option<u32>) -> bool,
) -> Vec<ExchangeApproval> {
    let own = approvals.iter().filter(|approval| is_own(approval.position));
    let shown = own.map(|approval| {
        let outcome = approval.outcome.as_ref();
        ExchangeApproval {
            request: approval.request,
            message: approval.message.clone(),
            decision: outcome.map(|outcome| outcome.decision.as_str()),
            people: outcome.map_or_else(Vec::new, |outcome| {
                outcome.by.iter().map(|signer| signer.name.clone()).collect()
            }),
            at: outcome.and_then(|_| decided.get(&approval.request).copied()),
            reason: outcome.map(|outcome| outcome.reason.clone()).unwrap_or_default(),
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::exit_of;

    #[test]
    fn the_end_of_a_script_is_what_the_engine_wrote() {
        assert_eq!(exit_of("run", "one\n[exit code 1]").as_deref(), Some("exit 1"));
        assert_eq!(exit_of("run", "[no output; exit code 0]").as_deref(), Some("no output; exit 0"));
        let outside = "<untrusted source=\"run\">\none\n[exit code 3]\n</untrusted>";
        assert_eq!(exit_of("run", outside).as_deref(), Some("exit 3"));
        assert_eq!(exit_of("run", "[exit code 0]\nmore"), None);
        assert_eq!(exit_of("read", "[exit code 0]"), None);
        assert_eq!(exit_of("run", ""), None);
    }
}
