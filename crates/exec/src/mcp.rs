//! A client of servers speaking the Model Context Protocol (MCP) over standard input and output.
//!
//! The server is a process in the sandbox of a step, one for an attempt. It gets the environment of the step's
//! scripts, and no more rights than they have.
//!
//! **Invariant:** a request ends in spite of anything a server writes: with its reply, at its timeout, at a limit of
//! size, or with the process.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use serde_json::{Map, Value, json};
use tokio::sync::watch;

use wf_base::exact_json;
use wf_core::machine::WorkExit;

use crate::{
    processes::{
        dialogue::{self, DialogueEnd, DialogueLimits, LineReceiver, LineSender},
        process::ProcessCommand,
    },
    work_error::StopLevel,
};

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
        let answer = tokio::time::timeout(timeout, self.exchange(method, &line)).await;
        let answer = answer.unwrap_or(Err(McpFailure::TimedOut(timeout)));
        if let Err(failure) = &answer
            && !matches!(failure, McpFailure::Refused { .. })
        {
            // A line may be half written or half read: nothing that follows can be relied on.
            self.failure.get_or_insert_with(|| failure.clone());
        }
        answer
    }

    /// Sends the line of a request, and waits for its result.
    async fn exchange(&mut self, method: &str, asked: &[u8]) -> Result<Value, McpFailure> {
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
            match read_message(&next, self.last)? {
                ServerMessage::Result(result) => return Ok(result),
                ServerMessage::Error(reason) => {
                    return Err(McpFailure::Refused { method: method.to_owned(), reason });
                }
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

/// The reason why a request to a server has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum McpFailure {
    /// The server cannot be started.
    #[error("it cannot be started: {0}")]
    NotStarted(String),
    /// The server has ended.
    #[error("it ended ({exit}){}", last(.said))]
    Ended {
        exit: WorkExit,
        /// The last line of its messages, masked by nobody.
        said: String,
    },
    /// There is no reply in time.
    #[error("it did not reply within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// A message is too long.
    #[error("it sent a message of more than {0} bytes")]
    TooLong(usize),
    /// A message is not one of the protocol.
    #[error("it wrote something that is no message of the protocol: {0}")]
    NotAMessage(String),
    /// The server refused the request.
    #[error("it refused `{method}`: {reason}")]
    Refused {
        /// The method of the request.
        method: String,
        reason: String,
    },
    /// The server speaks another version.
    #[error("it speaks the unknown version `{0}` of the protocol")]
    Version(String),
}

impl McpFailure {
    /// True if the process was ended since its own time was over, which is the time of the attempt.
    pub fn is_end_of_life(&self) -> bool {
        matches!(self, Self::Ended { exit: WorkExit::TimedOut, .. })
    }
}

fn last(said: &str) -> String {
    let line = said.lines().rev().find(|line| !line.trim().is_empty());
    line.map(|line| format!(": {}", line.trim())).unwrap_or_default()
}

/// The last version of the protocol with a handshake, and those before it that are the same for a client of tools.
pub(super) const HANDSHAKES: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version without a handshake: each request states the client's abilities.
pub(super) const STATELESS: &str = "2026-07-28";

/// The longest quote of a wrong message, in characters.
const QUOTED: usize = 80;

/// A message of a server.
#[derive(Debug, PartialEq)]
pub(super) enum ServerMessage {
    /// The result of the request waited for.
    Result(Value),
    /// The error of the request.
    Error(String),
    /// A request of the server, and the reply to it.
    Request(Value),
    /// Something needing no reaction.
    Other,
}

/// Returns the line of a request.
pub(super) fn request(id: u64, method: &str, mut params: Map<String, Value>, stateless: bool) -> Vec<u8> {
    if stateless {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": client(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params.insert("_meta".into(), meta);
    }
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// Returns the line of a notification.
pub(super) fn notification(method: &str) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": method}))
}

pub(super) fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

/// Returns the parameters of the handshake.
pub(super) fn handshake() -> Map<String, Value> {
    Map::from_iter([
        ("protocolVersion".to_owned(), HANDSHAKES[0].into()),
        ("capabilities".to_owned(), json!({})),
        ("clientInfo".to_owned(), client()),
    ])
}

fn client() -> Value {
    json!({"name": "wf", "version": env!("CARGO_PKG_VERSION")})
}

/// Reads a line of a server while the reply to a request is waited for.
pub(super) fn read_message(line: &[u8], id: u64) -> Result<ServerMessage, McpFailure> {
    if line.trim_ascii().is_empty() {
        return Ok(ServerMessage::Other);
    }
    let wrong = || {
        let text = String::from_utf8_lossy(line);
        let quoted = text.chars().take(QUOTED).map(|c| if c.is_control() { ' ' } else { c });
        McpFailure::NotAMessage(quoted.collect())
    };
    let Ok(Value::Object(message)) = exact_json::read_bytes(line) else {
        return Err(wrong());
    };
    let own = message.get("id");
    match (message.get("method").and_then(Value::as_str), own) {
        (Some("ping"), Some(own)) => {
            Ok(ServerMessage::Request(json!({"jsonrpc": "2.0", "id": own, "result": {}})))
        }
        (Some(_), Some(own)) => {
            let error = json!({"code": -32601, "message": "this client only calls tools"});
            Ok(ServerMessage::Request(json!({"jsonrpc": "2.0", "id": own, "error": error})))
        }
        (Some(_), None) => Ok(ServerMessage::Other),
        // The reply to a request that was given up.
        (None, Some(other)) if *other != json!(id) => Ok(ServerMessage::Other),
        (None, _) => match (message.get("result"), message.get("error")) {
            (Some(result @ Value::Object(_)), None) => Ok(ServerMessage::Result(result.clone())),
            (None, Some(error)) => {
                let error_reason = error.get("message").and_then(Value::as_str).unwrap_or("without a reason");
                Ok(ServerMessage::Error(error_reason.to_owned()))
            }
            _ => Err(wrong()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerMessage, notification, read_message, request};
    use crate::mcp::McpFailure;
    use serde_json::{Map, Value, json};

    #[test]
    fn a_request_without_a_handshake_says_who_asks() {
        let line: Value = serde_json::from_slice(&request(3, "tools/list", Map::new(), true)).unwrap();
        assert_eq!(line["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let line: Value = serde_json::from_slice(&request(3, "tools/list", Map::new(), false)).unwrap();
        assert_eq!(line, json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}));
        assert!(notification("x").ends_with(b"\n"));
    }

    #[test]
    fn each_message_of_a_server_is_known_by_its_parts() {
        let read = |message: Value| read_message(message.to_string().as_bytes(), 3);
        assert_eq!(read(json!({"id": 3, "result": {"a": 1}})), Ok(ServerMessage::Result(json!({"a": 1}))));
        assert_eq!(read(json!({"id": 3, "error": {"message": "no"}})), Ok(ServerMessage::Error("no".into())));
        assert_eq!(read(json!({"id": 2, "result": {}})), Ok(ServerMessage::Other));
        assert_eq!(read(json!({"method": "notifications/message"})), Ok(ServerMessage::Other));
        assert!(matches!(read(json!({"method": "ping", "id": "a"})), Ok(ServerMessage::Request(_))));
        assert!(matches!(
            read(json!({"method": "sampling/createMessage", "id": 1})),
            Ok(ServerMessage::Request(_))
        ));
        for wrong in [json!(3), json!({"id": 3}), json!({"id": 3, "result": 1}), json!([])] {
            assert!(matches!(read(wrong), Err(McpFailure::NotAMessage(_))));
        }
    }

    #[test]
    fn what_is_no_message_is_quoted_in_part() {
        let text = format!("Listening\u{1b} on {}", "x".repeat(999));
        match read_message(text.as_bytes(), 1) {
            Err(McpFailure::NotAMessage(quoted)) => {
                assert_eq!(quoted.chars().count(), 80);
                assert!(quoted.starts_with("Listening  on x"), "{quoted}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(read_message(b" \r", 1), Ok(ServerMessage::Other));
    }
}
