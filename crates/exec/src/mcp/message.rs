use serde_json::{Map, Value, json};

use super::McpFailure;
use wf_base::exact_json;

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
pub(super) fn read(line: &[u8], id: u64) -> Result<ServerMessage, McpFailure> {
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
                let said = error.get("message").and_then(Value::as_str).unwrap_or("without a reason");
                Ok(ServerMessage::Error(said.to_owned()))
            }
            _ => Err(wrong()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerMessage, notification, read, request};
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
        let read = |message: Value| read(message.to_string().as_bytes(), 3);
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
        match read(text.as_bytes(), 1) {
            Err(McpFailure::NotAMessage(quoted)) => {
                assert_eq!(quoted.chars().count(), 80);
                assert!(quoted.starts_with("Listening  on x"), "{quoted}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(read(b" \r", 1), Ok(ServerMessage::Other));
    }
}
