use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A client that writes and reads every line itself.
pub struct McpClient {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    replies: BTreeMap<u64, Value>,
}

impl McpClient {
    /// Starts a server and shakes hands with it.
    pub fn start(sandbox: &Sandbox) -> Self {
        let mut server = sandbox.command(&["mcp", "serve"]);
        let mut server = server.stdin(Stdio::piped()).spawn().expect("the server starts");
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut client = Self { server, input, output, last: 0, replies: BTreeMap::new() };
        let id = client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(client.reply(id)["result"]["protocolVersion"], "2025-11-25");
        client.tell("notifications/initialized", &json!({}));
        client
    }

    /// Calls a tool, and returns its result.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let reply = self.reply(id);
        assert!(reply["result"].is_object(), "{reply:#}");
        reply["result"].clone()
    }

    /// Calls a tool whose answer is a text.
    #[track_caller]
    pub fn text(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result:#}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Sends a request, and returns its id.
    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        self.ask_as(self.last, method, params)
    }

    /// Sends a request with an id.
    pub fn ask_as(&mut self, id: u64, method: &str, params: &Value) -> u64 {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(format!("{message}\n").as_bytes());
        id
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(format!("{message}\n").as_bytes());
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).expect("the server reads");
    }

    /// Waits for the reply to a request.
    #[track_caller]
    pub fn reply(&mut self, id: u64) -> Value {
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return reply;
            }
            let reply = self.next();
            self.replies.insert(reply["id"].as_u64().expect("a reply to a request"), reply);
        }
    }

    /// Returns the next message: a server writes nothing else.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes text");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|bad| panic!("{bad}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Closes the input, and returns the replies that nobody has read. The server must end well.
    #[track_caller]
    pub fn end(mut self) -> Vec<Value> {
        drop(self.input);
        let lines = self.output.lines().map(|line| line.expect("the server writes text"));
        let rest = lines.map(|line| serde_json::from_str(&line).expect("the server writes JSON"));
        let rest = self.replies.into_values().chain(rest).collect();
        assert!(self.server.wait().expect("the server ends").success());
        rest
    }
}
