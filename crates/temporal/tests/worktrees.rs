//! Agents in worktrees on a backend: what they did is merged, wherever it was done, and its versions are here.

use serde_json::json;

use crate::{
    farm::Farm,
    mirrors::compare,
    programs::{Did, program, until},
};

/// Makes a git repository of the workspace, with a plan of agents in worktrees; `each` and `more` are keys of their steps and of
/// the agents.
fn prepare(farm: &Farm, agents: &[(&str, &str, String)], more: &str) {
    let models =
        agents.iter().map(|(id, ..)| format!("  {id}: {{api: scripted, model: replies/{id}.yaml}}\n"));
    let roles = agents.iter().map(|(id, ..)| format!("  {id}: {id}\n"));
    let (models, roles): (String, String) = (models.collect(), roles.collect());
    farm.file("wf.yaml", format!("{}models:\n{models}roles:\n{roles}", farm.config()));
    let step = |(id, each, _): &(&str, &str, String)| {
        format!(
            "  - id: {id}\n    agent: {{role: {id}, tools: [edit, run], workspace: worktree{more}}}\n    \
             allow: {{write: [src]}}\n    retry: {{max: 2, on: [logical], backoff: 10ms}}\n    {each}\n    verify:\n      \
             - {{name: good, run: grep -q '{id} was here' -r src}}\n"
        )
    };
    let steps: String = agents.iter().map(step).collect();
    let sections: String = agents.iter().map(|(id, ..)| format!("\n## {id}\n\nDo it.\n")).collect();
    farm.file("plan.md", format!("---\nkind: plan\nid: beside\nsteps:\n{steps}---\n{sections}"));
    for (id, _, calls) in agents {
        farm.file(&format!("replies/{id}.yaml"), format!("- replies:\n{calls}    - text: it is done\n"));
    }
    farm.file(".gitignore", "/.wf/\n/ignored\n").file("ignored", "not even known");
    farm.file("src/a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    git(farm, &["init", "-q"]);
    git(farm, &["add", "-A"]);
    git(farm, &["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "first"]);
}

fn git(farm: &Farm, args: &[&str]) -> String {
    Did::of(program("git", &farm.path("space"), &farm.path("home")).args(args)).exits(0).out
}

/// Returns what an agent left at a path, as the run kept it.
fn kept(farm: &Farm, version: &str, path: &str) -> String {
    let repository = format!("--git-dir=.wf/runs/{}/worktrees.git", farm.run());
    git(farm, &[&repository, "show", &format!("refs/wf/{version}:{path}")])
}

/// A call of a tool, as a scripted model makes it.
fn call(tool: &str, arguments: &serde_json::Value) -> String {
    format!("    - tool_calls: [{{tool: {tool}, arguments: {arguments}}}]\n")
}

fn edit(old: &str, new: &str) -> String {
    call("edit", &json!({"path": "src/a.txt", "old": old, "new": new}))
}

fn run(script: &str) -> String {
    call("run", &json!({"script": script}))
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_agents_do_in_worktrees_is_merged_there_as_here() {
    let farm = Farm::new(2);
    let new = "cd src && printf 'two was here' > new.sh && chmod +x new.sh && ln -s a.txt link && git status --short";
    prepare(
        &farm,
        &[
            ("one", "runs_on: w1", edit("one\n", "one was here\n")),
            ("two", "depends_on: [one]\n    runs_on: w2", run(new)),
        ],
        "",
    );
    assert_eq!(compare(&farm, "plan.md"), Some(0));
    assert!(kept(&farm, "two/1/base", "src/a.txt").starts_with("one was here\ntwo\n"));
    assert_eq!(kept(&farm, "two/1/after", "src/new.sh"), "two was here");
    let log = farm.wf(&["logs", "--last", "two", "--calls"]).exits(0).out;
    assert!(log.contains(" M a.txt") && log.contains("?? link"), "it sees a repository: {log}");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn agents_on_two_hosts_change_the_same_file_and_both_changes_stay() {
    let farm = Farm::new(2);
    prepare(
        &farm,
        &[
            (
                "one",
                "runs_on: w1",
                edit("one\n", "one was here\n") + &run("test -z \"$(grep 'two was' src/a.txt)\""),
            ),
            ("two", "runs_on: w2", edit("seven\n", "two was here\n")),
        ],
        "",
    );
    farm.wf(&["run", "--on", "farm", "plan.md"]).exits(0).says("1 verified, 1 reported");
    let merged = ["one/1/after", "two/1/after"].map(|version| kept(&farm, version, "src/a.txt"));
    assert!(
        merged.contains(&"one was here\ntwo\nthree\nfour\nfive\nsix\ntwo was here\n".to_owned()),
        "{merged:?}"
    );
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_an_agent_did_in_its_worktree_outlives_its_host() {
    let mut farm = Farm::new(1);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    let lasts = "echo begun > src/begun.txt; sleep 5";
    prepare(&farm, &[("one", "timeout: 1m", edit("one\n", "one was here\n") + &run(lasts))], "");
    let run = farm.start(&["run", "--on", "farm", "plan.md"]);
    let runs = farm.path("w1/runs");
    let begun = |run: std::fs::DirEntry| {
        let worktrees = run.path().join("state/runs").join(farm.run()).join("worktrees/one.1/src/begun.txt");
        worktrees.exists()
    };
    until("the tool works", || std::fs::read_dir(&runs).unwrap().flatten().any(&begun));
    farm.kill_host("w1");
    farm.start_worker("w2");
    Did::ended(run).exits(0);
    let id = farm.run();
    assert_eq!(farm.count(&id, "attempt_started", Some("one")), 1);
    assert_eq!(farm.count(&id, "merge_ended", Some("one")), 1);
    assert!(
        kept(&farm, "one/1/result", "src/a.txt").starts_with("one was here\n"),
        "its first call was kept"
    );
    assert!(kept(&farm, "one/1/after", "src/a.txt").starts_with("one was here\n"));
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_further_attempt_goes_on_elsewhere_with_what_the_one_before_left() {
    let mut farm = Farm::new(1);
    let script = "echo x >> src/tries; test \"$(wc -l < src/tries)\" -lt 2 || echo one was here > src/b.txt";
    prepare(&farm, &[("one", "runs_on: w1", run(script))], "");
    let plan = std::fs::read_to_string(farm.path("space/plan.md")).unwrap();
    farm.file("plan.md", plan.replace("backoff: 10ms", "backoff: 5s"));
    let run = farm.start(&["run", "--on", "farm", "plan.md"]);
    until("the first attempt failed", || farm.count(&farm.run(), "retry_scheduled", Some("one")) == 1);
    farm.kill_host("w1");
    farm.start_worker("w1");
    until("it is over", || farm.count(&farm.run(), "run_ended", None) == 1);
    Did::ended(run).exits(0);
    assert_eq!(kept(&farm, "one/2/result", "src/tries"), "x\nx\n");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_review_shows_the_changes_and_merges_what_was_shown() {
    let mut farm = Farm::new(1);
    prepare(&farm, &[("one", "timeout: 1m", edit("one\n", "one was here\n"))], ", merge: review");
    farm.wf(&["run", "--on", "farm", "plan.md"]).exits(5).says("merge the changes of the agent");
    farm.kill_host("w1");
    farm.start_worker("w2");
    let id = farm.run();
    farm.wf(&["approve", &id, "--yes"]).exits(0).says("+one was here");
    farm.wf(&["resume", &id]).exits(0).says("1 verified");
    assert!(kept(&farm, "one/1/after", "src/a.txt").starts_with("one was here\ntwo\n"));
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_workspace_that_is_no_repository_has_no_worktrees() {
    let farm = Farm::new(1);
    prepare(&farm, &[("one", "timeout: 1m", run("true"))], "");
    std::fs::remove_dir_all(farm.path("space/.git")).unwrap();
    let told = "needs a workspace that is the top folder of a git repository";
    farm.wf(&["run", "--on", "farm", "plan.md"]).exits(1).says(told);
}
