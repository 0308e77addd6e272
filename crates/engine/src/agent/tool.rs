//! The tool calls of an agent: each is carried out by the engine, a process, a server, a skill, a child run or a person.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_base::redact::SecretMask;
use wf_core::{
    agent::{ChildrenReport, ToolCall, cut_result, estimate_tokens, source_of_result},
    machine::{InputKind, ToolCallEnd, ToolCallId, ToolOrder},
};
use wf_exec::{
    StopLevel,
    agent_tool::{ToolEnvironment, run_tool},
};

use super::{
    call_outcome::CallOutcome,
    engine_tools::{NoteSource, fetch, remember, search_memory},
    mcp::ServerAnswer,
    parse::AgentCall,
    session::AgentSession,
    skill,
};
use crate::{
    run::{RunContext, attempt_task::step_of},
    session::{EngineError, UnitResult},
};

/// The result of a tool call whose end nobody saw.
const INTERRUPTED: &str = "the engine was interrupted while this call was executed, so its result is unknown: look at \
    the workspace before you go on";

/// Returns a tool call a model asked for.
pub(crate) async fn tool_call(run: &RunContext, id: &ToolCallId) -> Option<ToolCall> {
    let session = run.agents.find_agent(&id.attempt).ok()?;
    let dialogue = session.dialogue.lock().await;
    dialogue.reply.as_ref()?.tool_calls.get(id.position as usize).cloned()
}

/// Executes a tool call of an agent. Its result is stored before it is reported.
pub(crate) async fn call_tool(
    run: Arc<RunContext>,
    order: ToolOrder,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let ToolOrder { id, waited_ms, children, answer, untrusted } = order;
    let session = run.agents.find_agent(&id.attempt)?;
    let mut dialogue = session.dialogue.lock().await;
    let calls = dialogue.reply.as_ref().map(|reply| &reply.tool_calls);
    let Some(call) = calls.and_then(|calls| calls.get(id.position as usize)).cloned() else {
        return Err(EngineError::Stuck);
    };
    let began = run.session.clock.now();
    let interrupted = dialogue.interrupted.take() == Some(id.position);
    let outcome = match (children, answer) {
        (Some(report), _) => session.report_children(&report, &run.mask().await),
        (None, Some(answer)) => CallOutcome::answered(&answer, &run.mask().await),
        (None, None) => {
            let step = step_of(&run, &id.attempt.task_id);
            let spent = began.since(session.began.after(Duration::from_millis(waited_ms)));
            let time_left = step.timeout.map(|limit| limit.saturating_sub(spent));
            let state = CallState { time_left, interrupted, untrusted };
            session.execute(&run, &call, state, stop).await
        }
    };
    let (result, untrusted) = (outcome.result(&call), outcome.outside);
    run.session.executor.ensure_supervised()?;
    let took = run.session.clock.now().since(began).as_millis();
    dialogue.log_tool(&call, &result);
    if let Some(note) = &outcome.breaker {
        dialogue.log_note(&format!("[breaker] {note}"));
    }
    session.task.breakers.extend(outcome.breaker);
    let end = ToolCallEnd {
        result: session.bodies.store_body(&result).await?,
        tokens: estimate_tokens(&result.text),
        is_error: result.is_error,
        untrusted,
        duration_ms: u64::try_from(took).unwrap_or(u64::MAX),
        id,
    };
    dialogue.results.insert(end.id.position, result);
    Ok(Some(InputKind::ToolEnded(end)))
}

/// The state in which a call finds its attempt.
struct CallState {
    /// The time the attempt has left.
    time_left: Option<Duration>,
    /// True if the call was under way when the engine ended.
    interrupted: bool,
    /// True if the agent was given untrusted text before.
    untrusted: bool,
}

impl AgentSession {
    /// Returns the outcome of a call of `dispatch` or `collect`.
    fn report_children(&self, report: &ChildrenReport, mask: &SecretMask) -> CallOutcome {
        let text = cut_result(&mask.text(&report.text()));
        let outside = self.dispatch.as_ref().and_then(|dispatch| report.untrusted_source(dispatch));
        CallOutcome::done(text, outside)
    }

    /// Executes a call.
    async fn execute(
        &self,
        run: &RunContext,
        call: &ToolCall,
        state: CallState,
        stop: watch::Receiver<StopLevel>,
    ) -> CallOutcome {
        let CallState { time_left, interrupted, untrusted } = state;
        let step = step_of(run, &self.task.attempt.task_id);
        let parsed = match self.parse(call) {
            Ok(parsed) => parsed,
            Err(mistake) => return CallOutcome::failed(mistake.to_string()),
        };
        if interrupted && !parsed.is_repeatable() {
            return CallOutcome::failed(INTERRUPTED.into());
        }
        let mask = run.mask().await;
        let site = ToolEnvironment {
            command: self.command.clone(),
            root: run.session.root.clone(),
            mask: mask.clone(),
            time_left,
            grace: run.plan.parts().policy.grace,
            output_limit: step.limits.output,
            untrusted: self.untrusted.clone(),
        };
        match parsed {
            AgentCall::Server(request) => {
                let answer = self.servers.call(request, &mask, time_left, stop).await;
                // A server may pass on what anybody wrote.
                let outside = Some(format!("the tool {}", call.tool));
                let ServerAnswer { text, is_error, breaker } = answer;
                CallOutcome { text: cut_result(&mask.text(&text)), is_error, outside, breaker }
            }
            AgentCall::Sandbox(request) => {
                let outcome = run_tool(&run.session.executor, &site, &request, stop).await;
                CallOutcome::of_process(outcome, source_of_result(&request))
            }
            AgentCall::Script(script) => {
                let source = format!("the script {}", script.call.path());
                match skill::run_script(self, site, script, stop).await {
                    Ok(outcome) => CallOutcome::of_process(outcome, source),
                    Err(unable) => CallOutcome::failed(mask.text(&unable.reason).into_owned()),
                }
            }
            AgentCall::Memory(query) => search_memory(Arc::clone(&self.task.run), query, &mask).await,
            AgentCall::Remember(draft) => {
                let source = NoteSource { attempt: self.task.attempt.clone(), untrusted };
                remember(Arc::clone(&self.task.run), draft, source, &mask).await
            }
            AgentCall::Fetch(target) => fetch(&target, &mask, time_left, stop).await,
            // The machine lets these begin with an answer only.
            AgentCall::Ask | AgentCall::Children(_) => CallOutcome::failed("there is no answer".into()),
        }
    }
}
