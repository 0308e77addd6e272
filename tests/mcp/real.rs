use serde_json::{Value, json};
use std::path::Path;

use crate::support::{Did, Sandbox};

/// Installs the client from npm, and returns its folder. npm writes into its home, which must be in no workspace.
fn install() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/mcp/install");
    let did = Did::of(&mut Sandbox::new().program(script.to_str().unwrap())).exits(0);
    did.out.trim_end().to_owned()
}

/// Lets the client of the protocol's TypeScript library call tools.
fn converse(sandbox: &Sandbox, calls: &Value) -> Value {
    let client = format!("{}/client.mjs", install());
    let mut node = sandbox.program("node");
    node.args([&client, &calls.to_string(), env!("CARGO_BIN_EXE_wf"), "mcp", "serve"]);
    let did = Did::of(&mut node).exits(0);
    serde_json::from_str(&did.out).expect("the client prints JSON")
}

#[test]
#[ignore = "installs packages from npm: see docs/mcp.md"]
fn a_real_client_checks_runs_and_follows_a_plan() {
    let sandbox = super::approved(super::ASK);
    let calls = json!([
        ["check", {}],
        ["run", {"plan": "plan.md", "params": {"day": "friday"}}],
        ["status", {"run": "$RUN", "wait_seconds": 60}],
        ["logs", {"run": "$RUN", "step": "build"}],
        ["pending", {}],
        ["run", {"plan": "missing.md"}],
    ]);
    let told = converse(&sandbox, &calls);
    assert_eq!(told["server"]["name"], "wf");
    assert_eq!(told["tools"].as_array().unwrap().len(), 10);
    let results = &told["results"];
    assert_eq!(results[0]["structuredContent"]["errors"], 0, "{told:#}");
    let run = results[1]["structuredContent"]["run"].as_str().unwrap();
    assert_eq!(results[2]["structuredContent"]["run"]["params"]["day"], "friday", "{told:#}");
    assert!(results[3]["content"][0]["text"].as_str().unwrap().contains("built on friday"), "{told:#}");
    assert_eq!(results[4]["structuredContent"]["pending"][0]["to_approve"], format!("wf approve {run}"));
    assert_eq!(results[5]["isError"], true, "{told:#}");
    sandbox.wf(&["cancel", run]).exits(0);
}

/// The real server for files, which reads the workspace. It is started where the scripts of the step would be.
#[test]
#[ignore = "installs packages from npm: see docs/mcp.md"]
fn an_agent_reads_a_file_through_a_real_server() {
    let folder = install();
    let sandbox = Sandbox::new();
    let server = format!("{folder}/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let configure = |digest: &str| {
        let files = json!({"command": ["node", server, "."], "tools": ["read_text_file", "list_directory"]});
        let mut config = json!({
            "models": {"m": {"api": "scripted", "model": "replies.yaml"}},
            "roles": {"executor": "m"},
            "sandbox": {"read": [folder]},
            "mcp": {"files": files},
        });
        if !digest.is_empty() {
            config["mcp"]["files"]["digest"] = digest.into();
        }
        sandbox.file("wf.yaml", config.to_string());
    };
    configure("");
    sandbox.file("notes.txt", "the word is heron\n");
    sandbox.file(
        "plan.md",
        "---\nkind: plan\nid: read\nsteps:\n  - id: look\n    agent: {role: executor, mcp: [files]}\n    timeout: 2m\n---\n\n\
         ## look\n\nRead notes.txt.\n",
    );
    sandbox.file(
        "replies.yaml",
        "- replies:\n    - tool_calls: [{tool: files__read_text_file, arguments: {path: notes.txt}}]\n    \
         - tool_calls: [{tool: files__read_text_file, arguments: {path: /etc/passwd}}]\n    - text: done\n",
    );
    let refused = sandbox.wf(&["run", "plan.md"]).exits(1).all();
    let (_, rest) = refused.split_once("`digest: ").unwrap_or_else(|| panic!("{refused}"));
    configure(&rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>());
    sandbox.wf(&["run", "plan.md"]).exits(0);
    let calls = sandbox.wf(&["logs", "--last", "look", "--calls"]).exits(0).says("the word is heron");
    assert!(!calls.all().contains("root:"), "{}", calls.all());
}
