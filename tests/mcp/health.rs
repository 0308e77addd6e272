//! A server that processes leave alone, whichever of them saw it fail.

use std::sync::Arc;

use wf_base::{name::Name, time::SystemClock};
use wf_core::health::{CallEnd, CallTarget, TargetHealth};
use wf_store::{Store, StoreDurability};

use super::agent::SERVER;
use crate::support::{Sandbox, until};

const PLAN: &str = "---\nkind: plan\nid: notes\nsteps:\n  - id: note\n    agent: {role: executor, tools: [run], mcp: [notes]}\n\
    ---\n\n## note\n\nTake notes.\n";

/// Replies of a model that waits before its second call of the server, until the test lets it go on.
const REPLIES: &str = r#"
- replies:
    - tool_calls:
        - {tool: notes__add, arguments: {text: one}}
        - {tool: run, arguments: {script: "while ! test -e go; do sleep 0.1; done"}}
        - {tool: notes__add, arguments: {text: two}}
    - text: done
"#;

#[test]
fn a_call_in_the_middle_of_an_attempt_is_answered_while_others_see_the_server_fail() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "wf.yaml",
        "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m}\n\
         mcp: {notes: {command: [sh, server.sh], tools: [add]}}\n",
    );
    sandbox.file("server.sh", SERVER.replace("ABOUT", "Adds a note."));
    sandbox.file("plan.md", PLAN).file("replies.yaml", REPLIES);
    sandbox.wf(&["mcp", "pin", "notes"]).exits(0);
    let running = sandbox.start(&["run", "plan.md"]);
    until("the first call has ended", || {
        let count = "SELECT count(*) FROM events WHERE kind = 'tool_call_ended'";
        let ended = |state: &rusqlite::Connection| state.query_row(count, [], |row| row.get::<_, u32>(0));
        sandbox.at(".wf/state.db").exists() && ended(&sandbox.database()) == Ok(1)
    });
    let clock = Arc::new(SystemClock);
    let store = Store::open(&sandbox.at(".wf"), StoreDurability::Normal, clock).unwrap();
    for _ in 0..TargetHealth::FAILURES {
        let target = CallTarget::mcp_server(&Name::parse("notes").unwrap());
        store.call_ledger().note(target, CallEnd::Outage { error: "no store".into() }).wait().unwrap();
    }
    sandbox.file("go", "");
    let ended = running.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let calls = sandbox.wf(&["logs", "--last", "note", "--calls"]).exits(0);
    let calls = calls.says("call 1, kept").says("MCP server `notes`: not called until");
    assert!(calls.all().contains("after 3 failures in a row; the last one: no store"), "{}", calls.all());
    assert!(!calls.all().contains("call 2,"), "{}", calls.all());
    sandbox.wf(&["run", "plan.md"]).exits(1).says("MCP server `notes`: not called until");
}
