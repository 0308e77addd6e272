use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::session::AgentSession;
use crate::current_step::step_of;
use crate::dispatch::UnitResult;
use crate::run::RunContext;
use wf_core::agent::{
    ChildrenReport, ToolCall, ToolRequest, ToolResult, cut_result, estimate_tokens, parse_call,
    source_of_result, untrusted_block,
};
use wf_core::machine::{InputKind, ToolCallEnd, ToolCallId};
use wf_exec::StopLevel;
use wf_exec::agent_tool::{ToolEnvironment, run_tool};

/// The result of a tool call whose end nobody saw.
const INTERRUPTED: &str = "the engine was interrupted while this call was executed, so its result is unknown: look at \
    the workspace before you go on";

/// Returns a tool call that a model asked for.
pub(in super::super) async fn tool_call(run: &RunContext, id: &ToolCallId) -> Option<ToolCall> {
    let session = run.agents.get(&id.attempt).ok()?;
    let dialogue = session.dialogue.lock().await;
    dialogue.reply.as_ref()?.tool_calls.get(id.position as usize).cloned()
}

/// A tool call to be executed.
pub(in super::super) struct ToolOrder {
    pub(in super::super) id: ToolCallId,
    /// The time that no limit of the attempt counts.
    pub(in super::super) waited: Duration,
    /// The result, of a call of `dispatch` or `collect`.
    pub(in super::super) children: Option<Box<ChildrenReport>>,
}

/// Executes a tool call of an agent. Its result is stored before it is reported.
pub(in super::super) async fn call_tool(
    run: Arc<RunContext>,
    order: ToolOrder,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let ToolOrder { id, waited, children } = order;
    let session = run.agents.get(&id.attempt)?;
    let mut dialogue = session.dialogue.lock().await;
    let calls = dialogue.reply.as_ref().map(|reply| &reply.tool_calls);
    let Some(call) = calls.and_then(|calls| calls.get(id.position as usize)).cloned() else {
        return Err(crate::EngineError::Stuck);
    };
    let began = run.session.clock.now();
    let interrupted = dialogue.interrupted.take() == Some(id.position);
    let (result, untrusted) = match children {
        Some(report) => session.report_children(&run, &call, &report).await,
        None => {
            let step = step_of(&run, &id.attempt.place);
            let spent = began.since(session.began.after(waited));
            let time_left = step.timeout.map(|limit| limit.saturating_sub(spent));
            session.execute(&run, &call, time_left, interrupted, stop).await
        }
    };
    run.session.executor.ensure_supervised()?;
    let took = run.session.clock.now().since(began).as_millis();
    dialogue.log_tool(&call, &result);
    let end = ToolCallEnd {
        result: session.bodies.put(&result).await?,
        tokens: estimate_tokens(&result.text),
        is_error: result.is_error,
        untrusted,
        duration_ms: u64::try_from(took).unwrap_or(u64::MAX),
        id,
    };
    dialogue.results.insert(end.id.position, result);
    Ok(Some(InputKind::ToolEnded(end)))
}

impl AgentSession {
    /// Returns the result of a call of `dispatch` or `collect`, and its source if that is not trusted.
    async fn report_children(
        &self,
        run: &RunContext,
        call: &ToolCall,
        report: &ChildrenReport,
    ) -> (ToolResult, Option<String>) {
        let text = cut_result(&run.mask().await.text(&report.text()));
        let source = self.dispatch.as_ref().and_then(|dispatch| report.untrusted_source(dispatch));
        let text = match &source {
            Some(source) => untrusted_block(source, &text),
            None => text,
        };
        (ToolResult { id: call.id.clone(), text, is_error: false }, source)
    }

    /// Executes a call. Returns the result, and its source if that is not trusted.
    async fn execute(
        &self,
        run: &RunContext,
        call: &ToolCall,
        time_left: Option<Duration>,
        interrupted: bool,
        stop: watch::Receiver<StopLevel>,
    ) -> (ToolResult, Option<String>) {
        let failed = |text: String| (ToolResult { id: call.id.clone(), text, is_error: true }, None);
        let step = step_of(run, &self.task.attempt.place);
        if let Some(parsed) = self.servers.parse(call) {
            let (text, is_error) = match parsed {
                Err(mistake) => return failed(mistake),
                Ok(_) if interrupted => return failed(INTERRUPTED.into()),
                Ok(request) => self.servers.call(request, time_left, stop).await,
            };
            // A server may pass on what anybody wrote.
            let source = format!("the tool {}", call.tool);
            let text = untrusted_block(&source, &cut_result(&run.mask().await.text(&text)));
            return (ToolResult { id: call.id.clone(), text, is_error }, Some(source));
        }
        let request = match parse_call(&self.tools, call) {
            Ok(request) => request,
            Err(mistake) => return failed(mistake.to_string()),
        };
        if interrupted && !is_repeatable(&request) {
            return failed(INTERRUPTED.into());
        }
        let site = ToolEnvironment {
            command: self.command.clone(),
            root: run.session.root.clone(),
            mask: run.mask().await,
            time_left,
            grace: run.plan.parts().policy.grace,
            output_limit: step.limits.output,
            untrusted: self.untrusted.clone(),
        };
        let outcome = run_tool(&run.session.executor, &site, &request, stop).await;
        let source = outcome.is_untrusted.then(|| source_of_result(&request));
        let text = match &source {
            Some(source) => untrusted_block(source, &outcome.text),
            None => outcome.text,
        };
        (ToolResult { id: call.id.clone(), text, is_error: outcome.is_error }, source)
    }
}

/// True if a call may be executed twice.
fn is_repeatable(request: &ToolRequest) -> bool {
    match request {
        ToolRequest::Read { .. }
        | ToolRequest::List { .. }
        | ToolRequest::Search { .. }
        | ToolRequest::Write { .. } => true,
        ToolRequest::Edit { .. }
        | ToolRequest::Run { .. }
        | ToolRequest::Dispatch { .. }
        | ToolRequest::Collect { .. } => false,
    }
}
