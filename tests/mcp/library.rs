use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt,
    model::{CallToolRequestParams, CallToolResult, ProtocolVersion},
    service::{RoleClient, RunningService},
};
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::support::Sandbox;

/// The client of the library, with its defaults.
struct LibraryClient;

impl ClientHandler for LibraryClient {}

/// Starts a server and connects to it.
async fn connect(
    sandbox: &Sandbox,
    mode: ClientLifecycleMode,
) -> (Child, RunningService<RoleClient, LibraryClient>) {
    let mut server = sandbox.command(&["mcp", "serve"]);
    let mut server = server.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let reader = Receiver::from_owned_fd(server.stdout.take().unwrap().into()).unwrap();
    let writer = Sender::from_owned_fd(server.stdin.take().unwrap().into()).unwrap();
    let client = LibraryClient.serve_with_lifecycle((reader, writer), mode).await;
    (server, client.expect("the client and the server understand each other"))
}

async fn call(
    client: &RunningService<RoleClient, LibraryClient>,
    tool: &'static str,
    given: Value,
) -> CallToolResult {
    let given = given.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(tool).with_arguments(given);
    client.call_tool(params).await.expect("a tool answers")
}

/// Lets a client do what a coding agent does with a workspace.
fn converse(mode: ClientLifecycleMode, version: &ProtocolVersion) {
    let sandbox = super::approved(super::ASK);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut server, client) = connect(&sandbox, mode).await;
        let info = client.peer_info().expect("the server says who it is");
        assert_eq!(&info.protocol_version, version);
        let tools = client.list_all_tools().await.expect("tools are listed");
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(
            names,
            ["list", "check", "graph", "preview", "run", "status", "runs", "logs", "verify", "pending"]
        );
        let drawn = call(&client, "graph", json!({"plan": "plan.md"})).await;
        assert!(drawn.content[0].as_text().unwrap().text.contains("build"), "{drawn:?}");
        let started = call(&client, "run", json!({"plan": "plan.md"})).await;
        assert_eq!(started.is_error, Some(false), "{started:?}");
        let run = started.structured_content.unwrap()["run"].clone();
        let status = call(&client, "status", json!({"run": run, "wait_seconds": 60})).await;
        assert_eq!(status.structured_content.unwrap()["questions"][0]["ask"]["message"], "Ship it?");
        let refused = call(&client, "run", json!({"plan": "../plan.md"})).await;
        assert_eq!(refused.is_error, Some(true), "{refused:?}");
        sandbox.wf(&["cancel", run.as_str().unwrap()]).exits(0);
        client.cancel().await.expect("the client ends");
        assert!(server.wait().unwrap().success());
    });
}

#[test]
fn the_library_talks_to_the_server_after_a_handshake() {
    converse(ClientLifecycleMode::Initialize, &ProtocolVersion::V_2025_11_25);
}

#[test]
fn the_library_talks_to_the_server_without_a_handshake() {
    let version = ProtocolVersion::V_2026_07_28;
    converse(ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] }, &version);
}
