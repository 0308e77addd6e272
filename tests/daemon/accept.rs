//! Goals that nobody has accepted as they are: a daemon executes nothing of them.

use std::process::{Command, Stdio};

use super::{Daemon, EACH_SECOND, count, ended, goal, place, service::git, soon, words};
use crate::support::{Did, Office, Sandbox};

/// Whatever is executed leaves a line: a check, a repair, a gate, a secret, and who is told.
const EVERYTHING: &str = "on_failure: spawn_plan\napproval: none\n\
    notify: [{on: [waiting, failed, repaired, missed], exec: [./trace, notify]}]\n\
    secrets: {TOKEN: {from: command, run: [./trace, secret]}}\n\
    gates: [traced]\n\
    verify: [{name: shut, run: ./trace check; test -f shut}]\n\
    repair: {steps: [{id: shut, run: ./trace repair; touch shut, env: {T: '{{ secrets.TOKEN }}'}}]}\n";
/// A gate that leaves its trace in a file that it does not name: one that it names may not change.
const GATE: &str =
    "---\nkind: gate\nid: traced\non: on_output\nprovider: script\nrun: f=traces; echo gate >> ../$f\n---\n";

fn traced() -> Sandbox {
    let sandbox = place();
    sandbox.file("trace", "#!/bin/sh\necho \"$1\" >> \"${0%/*}/traces\"\necho a-long-secret\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.at("trace"), mode).unwrap();
    sandbox
}

/// A daemon that begins where nobody has accepted anything since.
fn daemon(sandbox: &Sandbox, args: &[&str]) -> Daemon {
    let mut command = sandbox.unaccepted(&["daemon", "-q"]);
    started(command.args(args), sandbox)
}

fn started(command: &mut Command, sandbox: &Sandbox) -> Daemon {
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let workspace = sandbox.path().to_owned();
    Daemon { child, workspace }
}

/// How many slots wait for somebody to accept the goal, for a reason.
fn waiting(sandbox: &Sandbox, reason: &str) -> i64 {
    let sql = format!(
        "SELECT coalesce(sum(count), 0) FROM slots WHERE state = 'blocked'
         AND reason LIKE 'goals/kept.md must be accepted with `wf goal accept kept`: {reason}'"
    );
    count(sandbox, &sql)
}

#[test]
fn a_goal_that_nobody_accepted_executes_nothing_until_somebody_does() {
    let sandbox = traced();
    goal(&sandbox, &format!("{EACH_SECOND}{EVERYTHING}"));
    sandbox.file("gates/traced.md", GATE);
    let daemon = daemon(&sandbox, &[]);
    soon("slots wait", || waiting(&sandbox, "it is new") > 1);
    assert_eq!(sandbox.read("traces"), "", "nothing is executed");
    assert_eq!(count(&sandbox, "SELECT count(*) FROM runs"), 0);
    assert_eq!(count(&sandbox, "SELECT count(*) FROM notifications"), 0);
    for told in ["list", "doctor"] {
        let args: &[&str] = if told == "list" { &["goal", "list"] } else { &["doctor"] };
        sandbox.wf(args).says("must be accepted with `wf goal accept kept`: it is new");
    }
    // The control: all of it leaves its trace once somebody accepted it.
    sandbox.wf(&["goal", "accept", "kept"]).exits(2).says("--yes");
    sandbox.wf(&["goal", "accept", "kept", "--yes"]).exits(0);
    for trace in ["check", "repair", "gate", "secret", "notify"] {
        soon(trace, || sandbox.read("traces").lines().any(|line| line == trace));
    }
    daemon.ends();
}

#[test]
fn a_goal_that_changed_since_it_was_accepted_waits_again() {
    let sandbox = traced();
    let front = format!("{EACH_SECOND}verify: [{{name: shut, run: ./trace check}}]\n");
    goal(&sandbox, &front);
    sandbox.accept();
    let daemon = daemon(&sandbox, &[]);
    soon("it is looked at", || ended(&sandbox, "healthy") > 0);
    let program = sandbox.read("trace");
    sandbox.file("trace", format!("{program}echo forged >> \"${{0%/*}}/forged\"\n"));
    soon("slots wait", || waiting(&sandbox, "trace changed") > 0);
    sandbox.file("trace", &program);
    let before = ended(&sandbox, "healthy");
    soon("what was accepted goes on", || ended(&sandbox, "healthy") > before);
    let chmod = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(sandbox.at("trace"), mode).unwrap();
    };
    chmod(0o644);
    soon("slots wait", || waiting(&sandbox, "trace changed: its mode") > 0);
    chmod(0o755);
    let before = ended(&sandbox, "healthy");
    soon("what was accepted goes on", || ended(&sandbox, "healthy") > before);
    goal(&sandbox, &front.replace("./trace check", "touch forged; ./trace check"));
    soon("slots wait", || waiting(&sandbox, "goals/kept.md changed") > 0);
    goal(&sandbox, &front);
    let before = ended(&sandbox, "healthy");
    soon("what was accepted goes on", || ended(&sandbox, "healthy") > before);
    // What only bounds the history is nothing that the goal runs by.
    let config = sandbox.read("wf.yaml");
    sandbox.file("wf.yaml", format!("# for a month\n{config}retention: {{max_age: 30d}}\n"));
    let before = ended(&sandbox, "healthy");
    soon("it goes on", || ended(&sandbox, "healthy") > before + 1);
    assert_eq!(waiting(&sandbox, "wf.yaml%"), 0);
    sandbox.file("wf.yaml", format!("{config}env_pass: [CI]\n"));
    soon("slots wait", || waiting(&sandbox, "wf.yaml changed") > 0);
    daemon.ends();
    assert!(!sandbox.at("forged").exists());
}

#[test]
fn what_nobody_signed_who_owns_the_goal_is_no_acceptance() {
    let sandbox = traced();
    let front = format!("{EACH_SECOND}verify: [{{name: shut, run: ./trace check}}]\n");
    goal(&sandbox, &front);
    let accept = ["goal", "accept", "kept", "--yes"];
    // Somebody else signs.
    let keys = tempfile::tempdir().unwrap();
    let mut other = sandbox.command(&accept);
    Did::of(other.env("WF_KEYS", keys.path().join("other"))).exits(0);
    sandbox.wf(&["key", "init"]).exits(0);
    let daemon = daemon(&sandbox, &[]);
    soon("slots wait", || waiting(&sandbox, "%is not listed%") > 0);
    // Another goal was accepted.
    let acceptance = sandbox.at(".wf/goals/kept.accepted.json");
    sandbox.wf(&["goal", "pause", "kept"]).exits(0);
    goal(&sandbox, &front.replace("check", "other"));
    sandbox.wf(&accept).exits(0);
    goal(&sandbox, &front);
    sandbox.wf(&["goal", "resume", "kept"]).exits(0);
    soon("slots wait", || waiting(&sandbox, "goals/kept.md changed") > 0);
    // A byte is another.
    let text = std::fs::read_to_string(&acceptance).unwrap();
    std::fs::write(&acceptance, text.replacen("sig\":\"", "sig\":\"A", 1)).unwrap();
    let before = count(&sandbox, "SELECT count(*) FROM slots");
    soon("slots wait", || count(&sandbox, "SELECT count(*) FROM slots") > before + 1);
    assert_eq!(sandbox.read("traces"), "");
    // The control: the same goal, signed for.
    sandbox.wf(&accept).exits(0);
    soon("it is looked at", || ended(&sandbox, "healthy") > 0);
    daemon.ends();
}

#[test]
fn a_goal_that_others_did_not_approve_tells_nobody() {
    let office = Office::new(1, &["ada", "bob"], &["ada"]);
    let sandbox = &office.place;
    sandbox.file("wf.yaml", "sandbox: off\n");
    let front = format!(
        "{EACH_SECOND}notify: [{{on: [waiting, failed], exec: [sh, -c, 'cat >> told']}}]\n\
         verify: [{{name: shut, run: test -f shut}}]\n"
    );
    goal(sandbox, &front);
    let mut command = sandbox.unaccepted(&["daemon", "-q"]);
    command.env("WF_KEYS", office.people.path().join("bob"));
    let daemon = started(&mut command, sandbox);
    let skipped = "SELECT count(*) FROM slots WHERE reason LIKE '%.approval.json not found%'";
    soon("slots are skipped", || count(sandbox, skipped) > 1);
    office.by("bob", &["goal", "accept", "kept", "--yes"]).exits(2).says("wf approve");
    assert_eq!(words(sandbox, "SELECT goal FROM notifications"), [""; 0]);
    assert!(!sandbox.at("told").exists());
    // The control: as they approved it, it tells.
    office.by("ada", &["approve", "goals/kept.md", "--yes"]).exits(0);
    soon("it tells", || sandbox.at("told").exists());
    daemon.ends();
}

#[test]
fn data_of_an_accepted_goal_may_change_and_its_programs_may_not() {
    let sandbox = traced();
    sandbox.file("report.csv", "1\n");
    let front = format!(
        "{EACH_SECOND}data: [report.csv]\nverify: [{{name: full, run: ./trace check; test -s report.csv}}]\n"
    );
    goal(&sandbox, &front);
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "-A"]);
    sandbox.accept();
    let daemon = daemon(&sandbox, &[]);
    soon("it is looked at", || ended(&sandbox, "healthy") > 0);
    sandbox.file("report.csv", "1\n2\n");
    let before = ended(&sandbox, "healthy");
    soon("it goes on", || ended(&sandbox, "healthy") > before + 1);
    assert_eq!(waiting(&sandbox, "%"), 0);
    let program = sandbox.read("trace");
    sandbox.file("trace", format!("{program}echo forged >> forged\n"));
    soon("slots wait", || waiting(&sandbox, "trace changed") > 0);
    daemon.ends();
}

#[test]
fn a_signed_job_is_the_same_job_when_its_data_changes() {
    let sandbox = place();
    sandbox.file("load.sh", "cat inbox/orders.csv >> loaded\n");
    sandbox.file("inbox/orders.csv", "1\n");
    sandbox.file(
        "load.md",
        "---\nkind: plan\nid: load\nsteps: [{id: load, run: sh load.sh, writes: [loaded]}]\n---\n",
    );
    goal(&sandbox, &format!("{EACH_SECOND}data: [inbox/**]\nrun: ../load.md\n"));
    sandbox.wf(&["key", "init"]).exits(0);
    sandbox.wf(&["approve", "goals/kept.md", "--executions", "100", "--yes"]).exits(0).says("inbox/**");
    let daemon = daemon(&sandbox, &[]);
    soon("it loads", || ended(&sandbox, "reported") > 0);
    sandbox.file("inbox/orders.csv", "2\n");
    sandbox.file("inbox/more.csv", "3\n");
    soon("it loads on", || sandbox.read("loaded").contains('2'));
    // What only bounds the history is nothing that the job runs by.
    sandbox.file("wf.yaml", format!("{}retention: {{max_age: 30d}}\n", sandbox.read("wf.yaml")));
    let before = ended(&sandbox, "reported");
    soon("it loads on", || ended(&sandbox, "reported") > before + 1);
    assert_eq!(ended(&sandbox, "waiting"), 0);
    sandbox.file("load.sh", "echo forged >> loaded\n");
    let blocked = "SELECT count(*) FROM slots WHERE state = 'blocked' AND reason LIKE 'goals/kept.md is not approved: \
                   %load.sh%; wf approve goals/kept.md'";
    soon("another program is another job", || count(&sandbox, blocked) > 0);
    assert!(!sandbox.read("loaded").contains("forged"));
    let listed = sandbox.wf(&["goal", "list"]).exits(0).out;
    assert!(listed.contains("blocked") && listed.contains("wf approve goals/kept.md"), "{listed}");
    assert_eq!(ended(&sandbox, "waiting"), 0);
    sandbox.wf(&["doctor"]).says("kept: goals/kept.md is not approved").says("load.sh changed");
    sandbox.wf(&["approve", "goals/kept.md", "--executions", "100", "--yes"]).exits(0);
    assert!(!sandbox.wf(&["goal", "list"]).exits(0).out.contains("blocked"), "it was approved since");
    let before = ended(&sandbox, "reported");
    soon("what was approved runs", || ended(&sandbox, "reported") > before);
    daemon.ends();
    assert!(sandbox.read("loaded").contains("forged"));
}

#[test]
fn goals_of_one_workspace_do_not_disturb_each_other() {
    let sandbox = place();
    sandbox.file("wf.yaml", "# checks have a sandbox\n");
    for file in ["stamp", "other"] {
        sandbox.file(file, "0\n");
    }
    let busy = "run: 'for i in 1 2 3 4; do date +%N >> stamp; cp stamp other; sleep 0.1; done', writes: [stamp, other]";
    sandbox.file(
        "goals/busy.md",
        format!(
            "---\nkind: goal\nid: busy\n{EACH_SECOND}on_failure: spawn_plan\napproval: none\n\
             verify: [{{name: never, run: 'false'}}]\nrepair: {{steps: [{{id: stamp, {busy}}}]}}\n---\n"
        ),
    );
    goal(
        &sandbox,
        &format!("{EACH_SECOND}data: [stamp]\nverify: [{{name: there, run: test -s stamp && ls}}]\n"),
    );
    sandbox.accept();
    let daemon = daemon(&sandbox, &[]);
    let seen = "SELECT count(*) FROM reconciliations WHERE goal = 'kept' AND ended IS NOT NULL";
    soon("both are looked at", || count(&sandbox, seen) > 10 && ended(&sandbox, "failed") > 3);
    daemon.ends();
    let unknown = "SELECT reason FROM reconciliations WHERE goal = 'kept' AND health <> 'healthy'";
    assert_eq!(words(&sandbox, unknown), [""; 0]);
}

#[test]
fn programs_that_the_settings_and_agents_of_a_goal_start_are_accepted_with_it() {
    let sandbox = place();
    for program in ["key", "absolute", "variable", "agent"] {
        sandbox.file(program, "#!/bin/sh\necho one\n");
    }
    let config = "sandbox: off\nmodels: {m: {api: openai, model: x, base_url: 'http://127.0.0.1:1', \
                  key: {from: command, run: [./key]}}}\nroles: {worker: m}\n";
    sandbox.file("wf.yaml", config);
    let absolute = sandbox.at("absolute").display().to_string();
    sandbox.file(
        "goals/kept.md",
        format!(
            "---\nkind: goal\nid: kept\nschedule: \"0 6 * * *\"\non_failure: spawn_plan\napproval: none\n\
             verify: [{{name: a, run: '{absolute}'}}, {{name: b, run: '$WF_WORKSPACE/variable'}}]\n\
             repair: {{steps: [{{id: w, agent: {{role: worker, engine: command, command: [./agent]}}}}]}}\n---\n\
             ## w\n\nWork.\n"
        ),
    );
    sandbox.accept();
    let waits = || Did::of(&mut sandbox.unaccepted(&["goal", "list"])).exits(0).all();
    assert!(!waits().contains("blocked"), "{}", waits());
    for program in ["key", "absolute", "variable", "agent"] {
        sandbox.file(program, "#!/bin/sh\necho two\n");
        assert!(waits().contains(&format!("{program} changed")), "{program}: {}", waits());
        sandbox.file(program, "#!/bin/sh\necho one\n");
    }
}
