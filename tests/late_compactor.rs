//! A compactor that does not answer in time: its answer is not used, and what was sent to it counts in the budget.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::Sandbox;

const PLAN: &str = "---\nkind: plan\nid: reads\nsteps:\n  - id: look\n    \
    agent: {role: executor, tools: [read], max_turns: 40}\n---\n\n## look\n\nRead them.\n";

#[test]
fn a_call_that_is_late_counts_in_the_budget_and_the_agent_goes_on() {
    let sandbox = Sandbox::new();
    // It accepts the request, and never replies.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let price = json!({"input": 1, "output": 1});
    let models = json!({
        "models": {
            "reader": {"api": "scripted", "model": "replies.yaml", "context_window": 3000, "max_output": 200},
            "small": {"api": "openai", "model": "small", "base_url": url, "price": price},
        },
        "roles": {"executor": "reader", "compactor": "small"},
    });
    let read = json!({"tool_calls": [{"tool": "read", "arguments": {"path": "a.txt"}}]});
    let mut replies = vec![read; 14];
    replies.push(json!({"text": "that was all"}));
    sandbox.file("wf.yaml", models.to_string()).file("replies.yaml", Value::from(replies).to_string());
    sandbox.file("plan.md", PLAN).file("a.txt", "a line of a\n".repeat(100));
    sandbox.wf(&["run", "plan.md"]).exits(0);

    let database = sandbox.database();
    let sql = "SELECT body FROM events WHERE kind = 'compaction_ended' ORDER BY seq LIMIT 1";
    let body: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    let end: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(end["outcome"], "failed", "{end:#}");
    assert_eq!(end["reason"], "it did not answer within 2s", "{end:#}");
    assert_eq!(end["asked"]["failure"], "the call was stopped", "{end:#}");
    let (tokens, cost) = (&end["usage"]["tokens"], &end["usage"]["cost_micro_usd"]);
    assert!(tokens.as_u64() > Some(100), "{end:#}");
    assert_eq!(tokens, cost, "each token of the question costs a millionth of a dollar: {end:#}");
    let shown: Value = serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).exits(0).out).unwrap();
    assert!(shown["ledger"]["cost_micro_usd"].as_u64() >= cost.as_u64(), "{shown:#}");
}
