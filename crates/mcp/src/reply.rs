use serde_json::{Map, Value, json};

/// The versions of the protocol, oldest first. In all of them results of tools can have a structure.
pub(crate) const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", STATELESS];

/// The last version with a handshake.
pub(crate) const LAST_WITH_HANDSHAKE: &str = "2025-11-25";

/// The first version without a handshake: each request says what its client can.
pub(crate) const STATELESS: &str = "2026-07-28";

/// An error of the protocol: of a message no tool gets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum McpError {
    /// The line is not JSON.
    #[error("the line is not a JSON message: {0}")]
    NotJson(String),
    /// The line is too long.
    #[error("the line is longer than {0} bytes; send a shorter message")]
    TooLong(usize),
    /// The JSON is not a request.
    #[error("the message is not a JSON-RPC 2.0 request: {0}")]
    NotARequest(&'static str),
    /// There is no such method.
    #[error("this server has no method `{0}`; it has tools: see tools/list")]
    UnknownMethod(String),
    /// A parameter of a method is wrong.
    #[error("{0}")]
    WrongParameter(String),
    /// The version is not known.
    #[error("unsupported protocol version `{0}`")]
    UnsupportedVersion(String),
}

impl McpError {
    fn code(&self) -> i32 {
        match self {
            Self::NotJson(_) | Self::TooLong(_) => -32700,
            Self::NotARequest(_) => -32600,
            Self::UnknownMethod(_) => -32601,
            Self::WrongParameter(_) => -32602,
            Self::UnsupportedVersion(_) => -32022,
        }
    }

    /// Returns the reply; `id` is null if the request could not be read.
    pub(crate) fn reply(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code(), "message": self.to_string()});
        if let (Self::UnsupportedVersion(requested), Some(fields)) = (self, error.as_object_mut()) {
            fields.insert("data".into(), json!({"requested": requested, "supported": VERSIONS}));
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// Returns the reply to a request. Since the handshake is gone, a result says that it is complete.
pub(crate) fn result_reply(id: &Value, stateless: bool, mut result: Map<String, Value>) -> Value {
    if stateless {
        result.insert("resultType".into(), "complete".into());
    }
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}
