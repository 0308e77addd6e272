use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;

use super::McpFailure;
use super::message::{HANDSHAKES, ServerMessage, handshake, line, notification, read, request};
use crate::processes::dialogue::{self, DialogueEnd, DialogueLimits, LineReceiver, LineSender};
use crate::processes::process::ProcessCommand;
use crate::stop_level::StopLevel;

/// The maximum length of a message of a server, in bytes.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// The maximum output of a server over its life, in bytes.
const MAX_OUTPUT: u64 = 1 << 30;

/// The time in which a server must be ready, and list its tools.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum number of pages of a list.
const MAX_PAGES: usize = 100;

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct McpLimits {
    /// The time left of the attempt.
    pub life: Duration,
    /// The grace period between the request to terminate and the kill.
    pub grace: Duration,
}

/// A server at work. Dropping it kills the process.
pub struct McpLink {
    sender: LineSender,
    lines: LineReceiver,
    /// The process: it is followed while a reply is waited for.
    process: Pin<Box<dyn Future<Output = DialogueEnd> + Send>>,
    failure: Option<McpFailure>,
    last: u64,
    stateless: bool,
}

impl fmt::Debug for McpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpLink")
            .field("last", &self.last)
            .field("end", &self.failure)
            .finish_non_exhaustive()
    }
}

impl McpLink {
    /// Starts a server, and agrees with it on a version of the protocol.
    pub async fn open(
        command: &ProcessCommand,
        limits: McpLimits,
        stop: watch::Receiver<StopLevel>,
    ) -> Result<Self, McpFailure> {
        let bounds =
            DialogueLimits { timeout: limits.life, grace: limits.grace, line: MAX_LINE, output: MAX_OUTPUT };
        let (sender, lines, process) = dialogue::begin(command, bounds, stop)
            .await
            .map_err(|unable| McpFailure::NotStarted(unable.reason))?;
        let process = Box::pin(process);
        let mut link = Self { sender, lines, process, failure: None, last: 0, stateless: false };
        match link.ask("initialize", handshake(), START_TIMEOUT).await {
            Ok(result) => {
                let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
                if !HANDSHAKES.contains(&version) {
                    return Err(McpFailure::Version(version.chars().take(40).collect()));
                }
                link.sender.send_line(&notification("notifications/initialized")).await;
            }
            // It may know only the version without a handshake.
            Err(McpFailure::Refused { .. }) => {
                link.stateless = true;
                link.ask("server/discover", Map::new(), START_TIMEOUT).await?;
            }
            Err(failure) => return Err(failure),
        }
        Ok(link)
    }

    /// Returns the failure since which it cannot be called.
    pub fn end(&self) -> Option<&McpFailure> {
        self.failure.as_ref()
    }

    /// Returns the tools the server lists.
    pub async fn list(&mut self) -> Result<Vec<Value>, McpFailure> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = cursor.take().map(|cursor| ("cursor".to_owned(), cursor));
            let page = self.ask("tools/list", params.into_iter().collect(), START_TIMEOUT).await?;
            tools.extend(page.get("tools").and_then(Value::as_array).into_iter().flatten().cloned());
            cursor = page.get("nextCursor").filter(|next| next.is_string()).cloned();
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    /// Calls a tool, and returns the result as the server wrote it.
    pub async fn call(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, McpFailure> {
        let params = [("name".to_owned(), tool.into()), ("arguments".to_owned(), arguments.into())];
        self.ask("tools/call", params.into_iter().collect(), timeout).await
    }

    async fn ask(
        &mut self,
        method: &str,
        params: Map<String, Value>,
        timeout: Duration,
    ) -> Result<Value, McpFailure> {
        if let Some(end) = &self.failure {
            return Err(end.clone());
        }
        self.last += 1;
        let line = request(self.last, method, params, self.stateless);
        let answer = tokio::time::timeout(timeout, self.exchange(&line)).await;
        let answer = answer.unwrap_or(Err(McpFailure::TimedOut(timeout)));
        if let Err(failure) = &answer {
            // A line may be half written or half read: nothing that follows can be relied on.
            self.failure.get_or_insert_with(|| failure.clone());
        }
        match answer? {
            Ok(result) => Ok(result),
            Err(reason) => Err(McpFailure::Refused { method: method.to_owned(), reason }),
        }
    }

    /// Sends a line, and waits for the reply: a result, or the reason of a refusal.
    async fn exchange(&mut self, asked: &[u8]) -> Result<Result<Value, String>, McpFailure> {
        let mut reply = Some(asked.to_vec());
        loop {
            if let Some(line) = reply.take() {
                // A server that is busy writing does not read, so its output is taken meanwhile.
                tokio::select! {
                    () = self.sender.send_line(&line) => {}
                    end = &mut self.process, if self.failure.is_none() => self.note_end(end),
                }
            }
            let next = tokio::select! {
                biased;
                next = self.lines.recv() => next,
                end = &mut self.process, if self.failure.is_none() => {
                    self.note_end(end);
                    self.lines.recv().await
                }
            };
            let Some(next) = next else {
                return Err(self.ended().await);
            };
            if next.len() > MAX_LINE {
                return Err(McpFailure::TooLong(MAX_LINE));
            }
            match read(&next, self.last)? {
                ServerMessage::Result(result) => return Ok(Ok(result)),
                ServerMessage::Error(reason) => return Ok(Err(reason)),
                ServerMessage::Request(answer) => reply = Some(line(&answer)),
                ServerMessage::Other => {}
            }
        }
    }

    fn note_end(&mut self, end: DialogueEnd) {
        self.failure = Some(McpFailure::Ended { exit: end.exit, said: end.tails.err });
    }

    /// Returns the end of the process, whose output has ended.
    async fn ended(&mut self) -> McpFailure {
        if self.failure.is_none() {
            let end = self.process.as_mut().await;
            self.note_end(end);
        }
        self.failure.clone().unwrap_or_else(|| McpFailure::NotAMessage(String::new()))
    }
}
