//! The turns of a program: it goes on until it calls the model or ends.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_core::{
    agent::{Message, ModelReply, ModelRequest, ToolResult, estimate_tokens, source_of_tool},
    machine::{ClientCall, ClientReply, ClientTurn, InputKind, ToolCallEnd, ToolCallId},
};
use wf_exec::StopLevel;
use wf_model::FailureClass;

use super::{
    exit::{ClientContract, ClientExit, exit_of},
    process::{ClientEnd, ClientProcess},
    session::{ClientSession, PendingCall, Refusals, refuse},
};
use crate::{
    agent::session::{AgentDialogue, AgentSession},
    models::call::mask_request,
    run::RunContext,
    session::{EngineError, UnitResult},
};

/// An event a program's turn ends with.
enum ClientEvent {
    Call(PendingCall),
    End(Option<ClientEnd>),
    Stop(StopLevel),
}

/// Lets the program of an agent go on, until it calls the model or ends.
pub(crate) async fn serve_client(
    run: Arc<RunContext>,
    turn: ClientTurn,
    mut stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let session = run.agents.find_agent(&turn.attempt)?;
    let mut client = session.client.as_ref().ok_or(EngineError::Stuck)?.lock().await;
    let mut dialogue = session.dialogue.lock().await;
    release(&mut dialogue, &mut client, &turn.refusals);
    client.replied = run.session.clock.now();
    if client.process.is_none() {
        if let Some(invalid) = &turn.repairs {
            dialogue.log_note(&format!("[asked to repair the answer] {}", invalid.mistake));
            if client.invalid_answer.is_none() {
                client.begin_repair(invalid);
                (dialogue.reply, dialogue.failure) = (None, None);
            }
        }
        if let Some(reply) = &dialogue.reply {
            let digest = session.bodies.store_body(reply).await?;
            client.add_last_reply(digest, &turn.refusals);
        }
        match ClientProcess::start(&run, &session, &client).await {
            Ok(process) => client.process = Some(process),
            Err(unable) => {
                let (attempt, exit) = (turn.attempt, unable.into());
                return Ok(Some(InputKind::ClientEnded { attempt, exit, answer: None, mistake: None }));
            }
        }
    }
    loop {
        match client.next_event(&mut stop).await {
            ClientEvent::Stop(level) => client.process.iter().for_each(|process| process.stop(level)),
            ClientEvent::End(end) => {
                return client_ended(&session, &run, &mut client, &mut dialogue, end).await;
            }
            ClientEvent::Call(pending) if pending.reply.is_closed() => {}
            ClientEvent::Call(pending) => {
                let mut request = run.masked_request(&pending.request).await;
                client.process.iter().for_each(|process| mask_request(&mut request, &process.mask));
                let digest = session.bodies.put_request(&request).await?;
                if let Some(recorded) = client.take_recorded(digest) {
                    answer_from_log(&session, &mut dialogue, pending, &recorded);
                    continue;
                }
                let took = run.session.clock.now().since(client.replied);
                let tools = tool_ends(&session, &mut dialogue, &turn, &request, took).await?;
                let call = ClientCall {
                    request: digest,
                    input: request.estimated_tokens(),
                    max_output: request.max_output,
                };
                client.last_request = Some(digest);
                dialogue.begin_request(request);
                client.pending_call = Some(pending);
                return Ok(Some(InputKind::ClientCalled { attempt: turn.attempt, call, tools }));
            }
        }
    }
}

impl ClientSession {
    async fn next_event(&mut self, stop: &mut watch::Receiver<StopLevel>) -> ClientEvent {
        let Some(process) = &mut self.process else {
            return ClientEvent::End(None);
        };
        tokio::select! {
            biased;
            Ok(level) = async { stop.changed().await.map(|()| *stop.borrow_and_update()) } => ClientEvent::Stop(level),
            end = process.ended() => ClientEvent::End(end),
            Some(pending) = self.calls.recv() => ClientEvent::Call(pending),
        }
    }
}

/// Gives a program the reply to its last request, without the tool calls that were refused.
fn release(dialogue: &mut AgentDialogue, client: &mut ClientSession, refusals: &Refusals) {
    for reason in refusals.values() {
        dialogue.log_note(&format!("[refused] {reason}"));
    }
    let Some(waiting) = client.pending_call.take() else {
        return;
    };
    let answer = match (&dialogue.reply, &dialogue.failure) {
        (Some(reply), _) => Ok(reply.without(refusals)),
        (None, Some(failure)) => Err(refuse(failure.reason.clone())),
        (None, None) => Err(refuse("the call was not made".to_owned())),
    };
    // A program that no longer waits asks again.
    let _ = waiting.reply.send(answer);
}

/// Returns the results of the tool calls in the last reply a request has, by position, and logs them.
fn take_results<'r>(dialogue: &mut AgentDialogue, request: &'r ModelRequest) -> Vec<(u32, &'r ToolResult)> {
    let calls = dialogue.reply.as_ref().map(|reply| reply.tool_calls.clone()).unwrap_or_default();
    let of_calls = (0_u32..).zip(&calls);
    let results = of_calls.filter_map(|(position, call)| {
        let result = result_of(request, &call.id)?;
        dialogue.log_tool(call, result);
        Some((position, result))
    });
    results.collect()
}

/// Gives a program beginning anew the recorded reply to a request.
fn answer_from_log(
    session: &AgentSession,
    dialogue: &mut AgentDialogue,
    pending: PendingCall,
    recorded_reply: &ClientReply,
) {
    dialogue.log_note("[answered from the log]");
    let reply: Result<ModelReply, _> = session.bodies.load_body(&recorded_reply.reply);
    let reply = reply.map(|reply| reply.without(&recorded_reply.refusals));
    let _ = pending.reply.send(reply.map_err(|unable| refuse(unable.reason)));
}

/// Returns the ends of the tool calls in the last reply whose results a request has. They took as long as the
/// program was without a reply to wait for.
async fn tool_ends(
    session: &AgentSession,
    dialogue: &mut AgentDialogue,
    turn: &ClientTurn,
    request: &ModelRequest,
    took: Duration,
) -> Result<Vec<ToolCallEnd>, EngineError> {
    let calls = dialogue.reply.as_ref().map(|reply| reply.tool_calls.clone()).unwrap_or_default();
    let mut ends = Vec::new();
    for (position, result) in take_results(dialogue, request) {
        let tool = calls.get(position as usize).map(|call| call.tool.as_str()).unwrap_or_default();
        ends.push(ToolCallEnd {
            id: ToolCallId { attempt: turn.attempt.clone(), call: turn.call, position },
            result: session.bodies.store_body(result).await?,
            tokens: estimate_tokens(&result.text),
            is_error: result.is_error,
            untrusted: client_reads_outside(session).then(|| source_of_tool(tool)),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }
    Ok(ends)
}

/// True if any result of a program's tools is from outside: the inputs of a tool are not known.
fn client_reads_outside(session: &AgentSession) -> bool {
    let network = session.command.sandbox.as_ref().is_some_and(|sandbox| sandbox.network);
    network || !session.untrusted.is_empty()
}

/// Reports the end of a program, with its answer.
async fn client_ended(
    session: &AgentSession,
    run: &RunContext,
    client: &mut ClientSession,
    dialogue: &mut AgentDialogue,
    end: Option<ClientEnd>,
) -> UnitResult {
    let mask = client.process.take().map(|process| process.mask).unwrap_or_default();
    let attempt = session.task.attempt.clone();
    let Some(end) = end else {
        return Err(EngineError::Stuck);
    };
    end.output.shown().iter().for_each(|line| dialogue.log_note(line));
    let class = dialogue.failure.as_ref().map_or(FailureClass::Logical, |failure| failure.failure_class);
    let contract = ClientContract {
        engine: client.engine,
        outputs: &session.outputs,
        error_class: class,
        repairs: client.invalid_answer.is_some(),
    };
    let ClientExit { exit, answer, mistake } = exit_of(&end, contract);
    if !exit.is_success() {
        mask.text(&end.end.tails.err).lines().for_each(|line| dialogue.log_note(line));
    }
    let answer = match answer {
        Some(answer) => {
            let answer = run.mask().await.text(&answer).into_owned();
            Some(session.bodies.store_body(&answer).await?)
        }
        None => None,
    };
    Ok(Some(InputKind::ClientEnded { attempt, exit, answer, mistake }))
}

/// Returns the result of a tool call a request carries.
fn result_of<'a>(request: &'a ModelRequest, id: &str) -> Option<&'a ToolResult> {
    request.messages.iter().rev().find_map(|message| match message {
        Message::Tool { results } => results.iter().find(|result| result.id == id),
        Message::User { .. } | Message::Assistant { .. } | Message::Omitted { .. } => None,
    })
}
