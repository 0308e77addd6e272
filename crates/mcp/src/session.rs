use serde_json::{Map, Value, json};
use wf_base::{exact_json, keyword::Keyword as _};

use crate::{
    reply::{LAST_WITH_HANDSHAKE, McpError, STATELESS, VERSIONS, result_reply},
    tool::{McpTool, tool_list},
};

/// The key of the version in the metadata of a request.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The key of what the client can, in the metadata of a request.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The key of the server's name, in the metadata of a result.
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The instructions for models.
const INSTRUCTIONS: &str = "Workflows of this workspace: `check` plans after editing them, `run` starts one, \
    `status` follows it. A step is done when it is verified, not when it is reported. Approvals are for people: \
    when a plan is not approved, or a run waits for an approval, tell the user which command to run.";

/// The state of the conversation with a client.
#[derive(Debug, Default)]
pub(crate) struct McpSession {
    /// True once there was a handshake.
    has_handshake: bool,
}

/// The consequence of a message.
#[derive(Debug, PartialEq)]
pub(crate) enum McpAction {
    /// Nothing is to be done.
    Nothing,
    /// A message is to be sent.
    Reply(Value),
    /// A tool is to be called.
    Call(McpCall),
    /// A call is to be cancelled, by the id of its request.
    Cancel(Value),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct McpCall {
    /// The id of the request.
    pub(crate) id: Value,
    pub(crate) tool: McpTool,
    /// The arguments, as they came.
    pub(crate) arguments: Value,
    /// True if the request is of a version without a handshake.
    pub(crate) stateless: bool,
}

impl McpSession {
    pub(crate) fn take(&mut self, line: &[u8]) -> McpAction {
        let message: Value = match exact_json::read_bytes(line) {
            Ok(message) => message,
            Err(error) => return McpAction::Reply(McpError::NotJson(error.to_string()).reply(&Value::Null)),
        };
        let Value::Object(message) = message else {
            return not_a_request("it is not an object");
        };
        let method = message.get("method").and_then(Value::as_str);
        let id = message.get("id");
        match (method, id) {
            _ if message.get("jsonrpc") != Some(&json!("2.0")) => not_a_request("`jsonrpc` is not \"2.0\""),
            (Some(method), Some(id @ (Value::String(_) | Value::Number(_)))) => {
                let params = message.get("params").unwrap_or(&Value::Null);
                self.request(id, method, params).unwrap_or_else(|error| McpAction::Reply(error.reply(id)))
            }
            (Some(_), Some(_)) => not_a_request("`id` is neither a text nor a number"),
            (Some("notifications/cancelled"), None) => {
                let id = message.get("params").and_then(|params| params.get("requestId"));
                id.map_or(McpAction::Nothing, |id| McpAction::Cancel(id.clone()))
            }
            // Of other news this server makes no use, and it has asked nothing.
            (Some(_), None) => McpAction::Nothing,
            (None, Some(_)) if message.contains_key("result") || message.contains_key("error") => {
                McpAction::Nothing
            }
            (None, _) => not_a_request("`method` is missing"),
        }
    }

    fn request(&mut self, id: &Value, method: &str, params: &Value) -> Result<McpAction, McpError> {
        if method == "initialize" {
            self.has_handshake = true;
            return Ok(McpAction::Reply(result_reply(id, false, handshake(params))));
        }
        let stateless = self.is_stateless(method, params)?;
        Ok(match method {
            // The check of a connection came before all others, and is gone with the handshake.
            "ping" if !stateless => McpAction::Reply(result_reply(id, false, Map::new())),
            "server/discover" => McpAction::Reply(result_reply(id, true, discovery())),
            "tools/list" => {
                let mut list = Map::from_iter([("tools".to_owned(), tool_list())]);
                if stateless {
                    list.extend(cache_hints());
                }
                McpAction::Reply(result_reply(id, stateless, list))
            }
            "tools/call" => McpAction::Call(call(id, params, stateless)?),
            other => return Err(McpError::UnknownMethod(other.to_owned())),
        })
    }

    /// True if a request is of a version without a handshake. Such a request says its version and what its client can.
    fn is_stateless(&self, method: &str, params: &Value) -> Result<bool, McpError> {
        let meta = |key: &str| params.get("_meta").and_then(|meta| meta.get(key));
        let version = meta(VERSION_KEY).and_then(Value::as_str);
        if let Some(version) = version.filter(|version| !VERSIONS.contains(version)) {
            return Err(McpError::UnsupportedVersion(version.to_owned()));
        }
        let is_early_ping = method == "ping" && version.is_none();
        let says_so = version.is_some_and(|version| version >= STATELESS);
        if !says_so && (self.has_handshake || is_early_ping) {
            return Ok(false);
        }
        match (version, meta(CAPABILITIES_KEY).is_some_and(Value::is_object)) {
            (Some(_), true) => Ok(true),
            _ => Err(McpError::WrongParameter(format!(
                "without `initialize`, `_meta` must have `{VERSION_KEY}` and `{CAPABILITIES_KEY}`"
            ))),
        }
    }
}

fn not_a_request(reason: &'static str) -> McpAction {
    McpAction::Reply(McpError::NotARequest(reason).reply(&Value::Null))
}

/// Returns the result of the handshake: with the version of the client, or the latest that there is one in.
fn handshake(params: &Value) -> Map<String, Value> {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let known_version = requested.filter(|version| VERSIONS.contains(version) && *version < STATELESS);
    Map::from_iter([
        ("protocolVersion".to_owned(), known_version.unwrap_or(LAST_WITH_HANDSHAKE).into()),
        ("capabilities".to_owned(), json!({"tools": {}})),
        ("serverInfo".to_owned(), server()),
        ("instructions".to_owned(), INSTRUCTIONS.into()),
    ])
}

fn discovery() -> Map<String, Value> {
    let mut fields = Map::from_iter([
        ("supportedVersions".to_owned(), VERSIONS.as_slice().into()),
        ("capabilities".to_owned(), json!({"tools": {}})),
        ("instructions".to_owned(), INSTRUCTIONS.into()),
        ("_meta".to_owned(), json!({SERVER_KEY: server()})),
    ]);
    fields.extend(cache_hints());
    fields
}

fn server() -> Value {
    json!({"name": "wf", "title": "Workflows", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns the hints that nothing is to be kept.
fn cache_hints() -> [(String, Value); 2] {
    [("ttlMs".to_owned(), 0.into()), ("cacheScope".to_owned(), "private".into())]
}

fn call(id: &Value, params: &Value, stateless: bool) -> Result<McpCall, McpError> {
    let name = params.get("name").and_then(Value::as_str);
    let name =
        name.ok_or_else(|| McpError::WrongParameter("`name` is missing: the name of a tool".into()))?;
    let tool = McpTool::from_word(name).ok_or_else(|| {
        let tools: Vec<&str> = McpTool::ALL.iter().map(|tool| tool.as_str()).collect();
        McpError::WrongParameter(format!("there is no tool `{name}`; the tools are {}", tools.join(", ")))
    })?;
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(value) => value.clone(),
    };
    Ok(McpCall { id: id.clone(), tool, arguments, stateless })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{CAPABILITIES_KEY, McpAction, McpCall, McpSession, VERSION_KEY};
    use crate::tool::McpTool;

    fn reply(session: &mut McpSession, message: &Value) -> Value {
        match session.take(message.to_string().as_bytes()) {
            McpAction::Reply(reply) => reply,
            other => panic!("no reply: {other:?}"),
        }
    }

    fn request(method: &str, params: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    }

    fn after_handshake(version: &str) -> (McpSession, Value) {
        let mut session = McpSession::default();
        let result = reply(&mut session, &request("initialize", &json!({"protocolVersion": version})));
        (session, result["result"].clone())
    }

    #[test]
    fn a_handshake_agrees_on_a_version_that_has_one() {
        for (requested, agreed) in [
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("2024-11-05", "2025-11-25"),
            ("tomorrow", "2025-11-25"),
        ] {
            let (_, result) = after_handshake(requested);
            assert_eq!(result["protocolVersion"], agreed);
            assert_eq!(result["serverInfo"]["name"], "wf");
            assert_eq!(result["capabilities"], json!({"tools": {}}));
        }
    }

    #[test]
    fn after_a_handshake_results_have_no_newer_keys() {
        let (mut session, _) = after_handshake("2025-11-25");
        let list = reply(&mut session, &request("tools/list", &json!({})));
        assert_eq!(list["result"].as_object().unwrap().len(), 1, "{list}");
        assert_eq!(reply(&mut session, &request("ping", &json!({})))["result"], json!({}));
    }

    #[test]
    fn without_a_handshake_each_request_says_who_asks() {
        let mut session = McpSession::default();
        for meta in [json!({}), json!({VERSION_KEY: "2026-07-28"}), json!({CAPABILITIES_KEY: {}})] {
            let refused = reply(&mut session, &request("tools/list", &json!({"_meta": meta})));
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        let meta = json!({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}});
        let list = reply(&mut session, &request("tools/list", &json!({"_meta": meta})));
        assert_eq!(list["result"]["resultType"], "complete");
        assert_eq!(list["result"]["ttlMs"], 0);
        let found = reply(&mut session, &request("server/discover", &json!({"_meta": meta})));
        assert_eq!(found["result"]["supportedVersions"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]));
        let gone = reply(&mut session, &request("ping", &json!({"_meta": meta})));
        assert_eq!(gone["error"]["code"], -32601);
    }

    #[test]
    fn an_unknown_version_is_refused_with_the_known_ones() {
        let mut session = McpSession::default();
        let meta = json!({VERSION_KEY: "2031-01-01", CAPABILITIES_KEY: {}});
        let refused = reply(&mut session, &request("tools/list", &json!({"_meta": meta})));
        assert_eq!(refused["error"]["code"], -32022);
        assert_eq!(refused["error"]["data"]["requested"], "2031-01-01");
        assert_eq!(refused["error"]["data"]["supported"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_call_is_taken_as_it_is() {
        let (mut session, _) = after_handshake("2025-11-25");
        let message = request("tools/call", &json!({"name": "check", "arguments": {"x": 1}}));
        let call =
            McpCall { id: json!(7), tool: McpTool::Check, arguments: json!({"x": 1}), stateless: false };
        assert_eq!(session.take(message.to_string().as_bytes()), McpAction::Call(call));
        let unknown = reply(&mut session, &request("tools/call", &json!({"name": "approve"})));
        assert_eq!(unknown["error"]["code"], -32602);
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(session.take(cancel.to_string().as_bytes()), McpAction::Cancel(json!(7)));
    }

    #[test]
    fn what_is_no_request_gets_one_error_or_none() {
        let (mut session, _) = after_handshake("2025-11-25");
        for (line, code) in [
            ("{", -32700),
            ("[]", -32600),
            ("3", -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#, -32601),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602),
        ] {
            match session.take(line.as_bytes()) {
                McpAction::Reply(reply) => assert_eq!(reply["error"]["code"], code, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        ] {
            assert_eq!(session.take(line.as_bytes()), McpAction::Nothing, "{line}");
        }
        assert!(matches!(session.take(b"\xff"), McpAction::Reply(_)));
        let deep = "[".repeat(100_000);
        assert!(matches!(session.take(deep.as_bytes()), McpAction::Reply(_)));
    }
}
