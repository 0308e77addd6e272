//! Agents of runs on a backend: their conversation is where they work, and outlives that place.

use crate::{
    farm::Farm,
    mirrors::compare,
    programs::{Did, until},
};

/// A farm whose runs have a model, with replies from a file.
fn farm(workers: usize, replies: &str) -> Farm {
    let farm = Farm::new(workers);
    let models = "models:\n  small: {api: scripted, model: replies.yaml, price: {input: 3, output: 15}}\nroles: {executor: small}\n";
    farm.file("wf.yaml", farm.config() + models).file("replies.yaml", replies);
    farm
}

/// A plan with an agent that may write into a folder. `rest` begins with what follows the keys of the agent.
fn plan(farm: &Farm, keys: &str, rest: &str) {
    let step = format!(
        "  - id: work\n    agent: {{role: executor, {keys}}}\n    allow: {{write: [out]}}\n    artifacts: [out/sum.txt]\n"
    );
    let checks = "    verify: [{name: is_four, run: grep -qx 4 out/sum.txt}]\n  - {id: after, depends_on: [work], run: cat out/sum.txt}\n";
    farm.file(
        "sum.md",
        format!("---\nkind: plan\nid: sum\n{rest}steps:\n{step}{checks}---\n## work\nWrite the sum.\n"),
    );
}

/// Replies of a model that writes, looks, and answers; a script before it looks may take long.
fn replies(before: &str) -> String {
    let calls = [
        r#"{tool: write, arguments: {path: out/sum.txt, text: "4\n"}}"#.to_owned(),
        format!(r#"{{tool: run, arguments: {{script: "{before}cat out/sum.txt"}}}}"#),
    ];
    let calls = calls.map(|call| format!("    - tool_calls: [{call}]\n")).concat();
    format!("- replies:\n{calls}    - text: it is written\n")
}

/// A program that works as an agent: it asks its model once, and does what that says.
const PROGRAM: &str = r#"import json, os, sys, urllib.request

def post(body):
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["WF_MODEL_TOKEN"]}
    url = os.environ["WF_MODEL_URL"] + "/v1/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as reply:
        return json.load(reply)["choices"][0]["message"]

messages = [{"role": "user", "content": json.loads(sys.stdin.readline())["text"]}]
body = {"model": os.environ["WF_MODEL"], "messages": messages}
while message := post(body):
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        code = os.system(json.loads(call["function"]["arguments"])["script"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"exit code {code}"})
print(json.dumps({"type": "answer", "text": message["content"]}))
"#;

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_agent_does_there_what_it_does_here() {
    let farm = farm(2, &replies(""));
    plan(&farm, "tools: [write, run]", "budget: {max_tokens: 100000, max_cost_usd: 1}\n");
    assert_eq!(compare(&farm, "sum.md"), Some(0));
    farm.wf(&["logs", "--last", "work"]).exits(0).says("it is written");
    farm.wf(&["logs", "--last", "work", "--calls"]).exits(0).says("2 tool calls");

    let program = "- replies:\n    - tool_calls: [{tool: run, arguments: {script: echo 4 > out/sum.txt}}]\n    - text: it is written\n";
    farm.file("replies.yaml", program).file("agent.py", PROGRAM);
    plan(&farm, "engine: command, command: [python3, agent.py]", "");
    assert_eq!(compare(&farm, "sum.md"), Some(0));
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_agent_whose_host_is_lost_goes_on_elsewhere() {
    let mut farm = farm(1, &replies("touch out/begun; sleep 5; "));
    plan(&farm, "tools: [write, run]", "");
    let run = farm.start(&["run", "--on", "farm", "sum.md"]);
    let runs = farm.path("w1/runs");
    let has_begun = |run: std::fs::DirEntry| run.path().join("workspace/out/begun").exists();
    until("the tool works", || std::fs::read_dir(&runs).unwrap().flatten().any(has_begun));
    farm.kill_host("w1");
    farm.start_worker("w2");
    Did::ended(run).exits(0);
    let id = farm.run();
    assert_eq!(farm.count(&id, "attempt_started", Some("work")), 1);
    assert_eq!(farm.count(&id, "model_call_started", Some("work")), 3);
    assert_eq!(farm.count(&id, "tool_call_ended", Some("work")), 2);
    farm.wf(&["logs", "--last", "work"]).exits(0).says("interrupted while this call was executed");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_agent_that_asks_outlives_its_worker() {
    let mut farm = farm(1, &replies(""));
    let gate = "gates:\n  - {id: writes, on: on_tool_call, provider: predicate, check: string_match, extract: $.tool_name, config: {allowed_values: [run], approval_values: [write]}}\n";
    plan(&farm, "tools: [write, run]", gate);
    farm.wf(&["run", "--on", "farm", "sum.md"]).exits(5).says("allow one call of `write`?");
    farm.kill_host("w1");
    farm.start_worker("w1");
    let id = farm.run();
    farm.wf(&["approve", &id, "--yes"]).exits(0);
    farm.wf(&["resume", &id]).exits(0);
    assert_eq!(farm.count(&id, "approval_resolved", None), 1);
    assert_eq!(farm.count(&id, "model_call_started", Some("work")), 3);
}
