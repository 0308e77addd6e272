//! Runs that agents start on a backend: what they do there is what they do here, whatever dies meanwhile.

use crate::{
    farm::Farm,
    mirrors::compare,
    programs::{Did, signal, until},
};

/// A plan that counts the files of a folder.
const COUNT: &str = r#"params: {folder: {type: string}}
steps:
  - id: count
    env: {NAME: "{{ run.dispatch }}"}
    run: echo "counted as $NAME"; test -d "$WF_PARAM_FOLDER" && echo "files=$(find "$WF_PARAM_FOLDER" -type f | wc -l)" >> "$WF_OUTPUT"
    allow: {}
    outputs: {files: {type: integer}}
    verify: [{name: there, run: test -d "$WF_PARAM_FOLDER"}]
outputs: {files: {value: "{{ steps.count.outputs.files }}", type: integer}}"#;

/// A plan whose step lasts until it is told to end, and cleans up.
const LASTS: &str = r#"steps:
  - id: long
    run: echo $$ >> "MARKS/pids"; until [ -e "MARKS/go" ]; do sleep 0.05; done; echo lasted > lasted.txt
    idempotent: true
    retry: {max: 3, on: [interrupted], backoff: 10ms}
finally:
  - {id: clean, run: echo cleaned}"#;

/// A farm with a model whose replies are in a file, and a plan with an agent that may start runs of some plans. `more` are
/// keys of the plan.
fn farm(farm: Farm, dispatch: &str, more: &str, replies: &str) -> Farm {
    let models = "models:\n  small: {api: scripted, model: replies.yaml, price: {input: 3, output: 15}}\n  deep: {api: scripted, model: deep.yaml}\nroles: {executor: small, digger: deep}\n";
    farm.file("wf.yaml", farm.config() + models).file("replies.yaml", format!("- replies:\n{replies}"));
    let agent =
        format!("{{role: executor, tools: [dispatch, collect], dispatch: {{{dispatch}, max_parallel: 2}}}}");
    let steps = format!(
        "steps:\n  - {{id: audit, agent: {agent}, timeout: 1m}}\n  - {{id: after, depends_on: [audit], run: ls}}\n"
    );
    farm.file("plan.md", format!("---\nkind: plan\nid: plan\n{more}{steps}---\n## audit\nCount.\n"));
    farm
}

/// A farm with one worker whose agent starts a run that lasts, and waits for it.
fn lasting(workers: Farm) -> Farm {
    let farm =
        farm(workers, "plans: [below.md]", "", &replies(&[dispatch("long", "below", "{}"), collect("all")]));
    std::fs::create_dir(farm.path("marks")).unwrap();
    farm.plan("below", &LASTS.replace("MARKS", farm.path("marks").to_str().unwrap()));
    farm
}

/// Replies with one tool call each, and an answer.
fn replies(calls: &[String]) -> String {
    let calls = calls.iter().map(|call| format!("    - tool_calls: [{call}]\n"));
    calls.collect::<String>() + "    - text: it is counted\n"
}

fn dispatch(id: &str, plan: &str, params: &str) -> String {
    format!("{{tool: dispatch, arguments: {{id: {id}, plan: {plan}, params: {params}}}}}")
}

fn collect(id: &str) -> String {
    format!("{{tool: collect, arguments: {{id: {id}}}}}")
}

/// The processes that began the step that lasts, in order.
fn pids(farm: &Farm) -> Vec<String> {
    let text = std::fs::read_to_string(farm.path("marks/pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn let_go(farm: &Farm) {
    std::fs::write(farm.path("marks/go"), "").unwrap();
}

/// The id of the run that the agent started under a name.
fn child(farm: &Farm, name: &str) -> String {
    farm.runs().remove(&format!("/audit/{name}#1")).unwrap()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn runs_that_an_agent_starts_do_there_what_they_do_here() {
    let both = format!("{}, {}", dispatch("docs", "count", "{folder: docs}"), dispatch("deep", "deep", "{}"));
    let again = dispatch("docs", "count", "{folder: src}");
    let calls = [both, collect("docs"), again, collect("all"), collect("ready")];
    let farm = farm(Farm::new(2), "plans: [count.md, deep.md]", "", &replies(&calls));
    farm.plan("count", COUNT);
    let deep = "steps: [{id: below, uses: count.md, with: {folder: src}, outputs: {files: {type: integer}}}]\noutputs: {files: {value: \"{{ steps.below.outputs.files }}\", type: integer}}";
    farm.plan("deep", &deep.replace(", outputs: {files: {type: integer}}}]", "}]"));
    farm.file("docs/a.txt", "a").file("src/b.txt", "b").file("src/c.txt", "c");
    assert_eq!(compare(&farm, "plan.md"), Some(0));
    farm.wf(&["logs", "--last", "audit", "--calls"]).exits(0).says(r#""files":2"#).says("6 model calls");
    farm.wf(&["logs", "--last", "audit/docs/count"]).exits(0).says("counted as docs");
    farm.wf(&["replay", "--last"]).exits(0);
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_agent_in_a_run_of_an_agent_starts_runs_too() {
    let calls = [dispatch("dig", "dig", "{}"), dispatch("more", "dig", "{}"), collect("all")];
    let farm = farm(Farm::new(2), "plans: [dig.md], max: 1", "", &replies(&calls));
    let inner = [dispatch("src", "count", "{folder: src}"), collect("src")];
    farm.file("deep.yaml", format!("- replies:\n{}", replies(&inner)));
    let agent = "{role: digger, tools: [dispatch, collect], dispatch: {plans: [count.md]}}";
    let dig = format!("---\nkind: plan\nid: dig\nsteps: [{{id: dig, agent: {agent}}}]\n---\n## dig\nDig.\n");
    farm.plan("count", COUNT).file("dig.md", dig).file("src/b.txt", "b");
    assert_eq!(compare(&farm, "plan.md"), Some(0));
    farm.wf(&["logs", "--last", "audit", "--calls"]).exits(0).says("the plan allows this step 1 runs");
    farm.wf(&["logs", "--last", "audit/dig/dig/src/count"]).exits(0).says("counted as src");
    farm.wf(&["replay", "--last"]).exits(0).says("no difference");
    assert_eq!(farm.runs().len(), 3);
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_runs_of_an_agent_use_counts_in_the_budget_around_them() {
    let calls = [
        dispatch("docs", "count", "{folder: docs}"),
        collect("docs"),
        dispatch("more", "count", "{folder: docs}"),
    ];
    let budget = "budget: {max_attempts: 2, reserve: 0}\n";
    let farm = farm(Farm::new(2), "plans: [count.md]", budget, &replies(&calls));
    farm.plan("count", COUNT).file("docs/a.txt", "a");
    assert_eq!(compare(&farm, "plan.md"), Some(1));
    assert_eq!(farm.runs().len(), 2, "no other one begins");
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_fails_is_told_to_the_agent_and_ends_those_that_depend_on_it() {
    let after =
        "{tool: dispatch, arguments: {id: after, plan: count, params: {folder: src}, depends_on: [lost]}}";
    let calls = [format!("{}, {after}", dispatch("lost", "count", "{folder: lost}")), collect("all")];
    let farm = farm(Farm::new(1), "plans: [count.md]", "", &replies(&calls));
    farm.plan("count", COUNT);
    farm.wf(&["run", "--on", "farm", "plan.md"]).exits(0);
    let said = farm.wf(&["logs", "--last", "audit", "--calls"]).exits(0);
    said.says("failed: step `count` failed").says("`lost`, on which it depends, did not succeed");
    assert_eq!(farm.runs().len(), 2, "the one that depends on it did not begin");
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn runs_that_an_agent_started_end_with_it() {
    let farm = lasting(Farm::new(1));
    let run = farm.start(&["run", "--on", "farm", "plan.md"]);
    until("the step began", || pids(&farm).len() == 1);
    signal("INT", run.id());
    Did::ended(run).exits(130);
    let long = child(&farm, "long");
    assert_eq!(farm.events(&long).last().unwrap()["outcome"], "cancelled");
    assert_eq!(farm.count(&long, "step_ended", Some("clean")), 1);
    assert!(!std::path::Path::new(&format!("/proc/{}", pids(&farm)[0])).exists(), "its process lives");
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_agent_whose_host_is_lost_collects_its_runs_elsewhere() {
    let mut farm = lasting(Farm::new(1));
    let run = farm.start(&["run", "--on", "farm", "plan.md"]);
    until("the step began", || pids(&farm).len() == 1);
    farm.kill_host("w1");
    farm.start_worker("w2");
    until("it began again", || pids(&farm).len() == 2);
    let_go(&farm);
    Did::ended(run).exits(0);
    let id = farm.run();
    assert_eq!(farm.count(&id, "attempt_started", Some("audit")), 1);
    assert_eq!(farm.count(&id, "child_started", Some("audit")), 1);
    assert_eq!(farm.count(&id, "model_call_started", Some("audit")), 3);
    assert_eq!(farm.count(&child(&farm, "long"), "attempt_started", Some("long")), 2);
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn runs_that_an_agent_started_outlive_the_history_of_their_workflow() {
    let mut workers = Farm::with_settings("127.0.0.1", &["limit.historyCount.suggestContinueAsNew=10"]);
    workers.start_worker("w1");
    let farm = lasting(workers);
    let run = farm.start(&["run", "--on", "farm", "plan.md"]);
    until("the step began", || pids(&farm).len() == 1);
    let id = farm.run();
    until("another history begins", || farm.server.history(&id).contains("continuedExecutionRunId"));
    std::thread::sleep(std::time::Duration::from_secs(1));
    let_go(&farm);
    Did::ended(run).exits(0);
    assert_eq!(pids(&farm).len(), 1, "the step ran once");
    assert_eq!(farm.count(&id, "child_started", Some("audit")), 1);
    assert_eq!(farm.count(&id, "child_ended", Some("audit")), 1);
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_approval_that_a_run_of_an_agent_asks_for_lets_all_go_on() {
    let farm = farm(
        Farm::new(1),
        "plans: [asks.md]",
        "",
        &replies(&[dispatch("ask", "asks", "{}"), collect("all")]),
    );
    farm.plan("asks", r#"steps: [{id: ok, approve: {message: "Go on?", timeout: 10m}}]"#);
    farm.wf(&["run", "--on", "farm", "plan.md"]).exits(5).says("Go on?");
    let id = farm.run();
    farm.wf(&["resume", &id]).exits(5).says("Go on?");
    farm.wf(&["approve", &id, "audit/ask/ok", "--yes"]).exits(0);
    farm.wf(&["resume", &id]).exits(0);
    assert_eq!(farm.count(&child(&farm, "ask"), "approval_resolved", None), 1);
    farm.assert_whole();
}
