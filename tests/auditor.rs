//! What is no tampering is not taken for it, and what the auditor writes is for everybody.

use crate::{
    audit::{LOG, checkpoint, events, lines, lived, put, run, verify, verify_with_checkpoint},
    support::{Did, Sandbox, until},
};

#[test]
fn a_backup_is_restored_though_the_audit_log_was_behind_when_it_was_made() {
    let sandbox = Sandbox::new();
    // A command without an auditor writes to the database, and nothing to the audit log.
    sandbox.wf(&["memory", "add", "a note"]).exits(0);
    sandbox.file("plan.md", "---\nkind: plan\nid: p\nsteps: [{id: a, run: 'true'}]\n---\n");
    sandbox.wf(&["run", "plan.md"]).exits(0);
    sandbox.wf(&["memory", "add", "another"]).exits(0);
    sandbox.wf(&["backup", "state.tar"]).exits(0);
    sandbox.wf(&["memory", "add", "a third"]).exits(0);
    sandbox.wf(&["restore", "state.tar", "--force"]).exits(0);
    verify(&sandbox).exits(0).says("from a backup");
    std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
    sandbox.wf(&["restore", "state.tar"]).exits(0);
    verify(&sandbox).exits(0).says("from a backup");
}

#[test]
fn what_a_killed_restore_leaves_is_named() {
    let sandbox = lived(1);
    sandbox.wf(&["backup", "state.tar"]).exits(0);
    let restore = |crash: String| {
        let mut command = sandbox.command(&["restore", "state.tar", "--force"]);
        Did::of(command.env("WF_CRASH", crash))
    };
    restore("engine:list=points".into()).exits(0);
    let names = sandbox.read("points");
    let point = names.lines().position(|name| name == "restore.before").unwrap() + 1;
    assert!(!sandbox.wf(&["doctor"]).all().contains("killed"));
    assert_eq!(restore(format!("engine:{point}")).code, None);
    sandbox.wf(&["doctor"]).says(".wf-restore-").says("is left by a restore that was killed");
    verify(&sandbox).exits(0);
}

#[test]
fn a_restored_backup_is_told_as_what_it_is() {
    let sandbox = lived(1);
    sandbox.wf(&["backup", "state.tar"]).exits(0);
    checkpoint(&sandbox);
    run(&sandbox, 1);
    sandbox.wf(&["restore", "--force", "state.tar"]).exits(0);
    let all = events(&sandbox);
    let said = format!("from a backup: the database went back to event {all} of {}", 2 * all);
    let said = said.as_str();
    verify(&sandbox).exits(0).says(said);
    run(&sandbox, 1);
    verify(&sandbox).exits(0).says(said);
    verify_with_checkpoint(&sandbox).exits(0);
    // Where nothing is left, the audit log of the backup comes back with it.
    std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
    sandbox.wf(&["restore", "state.tar"]).exits(0);
    verify(&sandbox).exits(0).says("from a backup");
}

#[test]
fn forgotten_runs_still_verify() {
    let sandbox = lived(3);
    sandbox.file("wf.yaml", "retention: {max_runs: 1}\n");
    run(&sandbox, 1);
    sandbox.wf(&["audit", "tail"]).says("pruned runs=3");
    verify(&sandbox).exits(0);
    // An audit log that begins now reads of them what is left.
    std::fs::remove_dir_all(sandbox.at(".wf/audit")).unwrap();
    verify(&sandbox).exits(1).says("no audit log");
    let first = events(&sandbox) + 1;
    run(&sandbox, 1);
    let said = format!("the audit log starts with event {first} of the database: no auditor ran");
    verify(&sandbox).exits(1).says(&said);
    checkpoint(&sandbox);
    verify_with_checkpoint(&sandbox).exits(0).says("the checkpoint covers it");
}

#[test]
fn a_killed_program_leaves_a_history_that_holds() {
    for point in (1..60).step_by(4) {
        let sandbox = lived(1);
        let mut command = sandbox.command(&["run", "plan.md"]);
        let killed = command.env("WF_CRASH", format!("engine:{point}"));
        if killed.output().unwrap().status.code().is_some() {
            break;
        }
        let did = verify(&sandbox);
        assert_eq!(did.code, Some(0), "at {point}: {}", did.all());
        run(&sandbox, 1);
        let did = verify(&sandbox);
        assert_eq!(did.code, Some(0), "at {point}: {}", did.all());
        assert!(!did.all().contains("note"), "at {point}: {}", did.all());
    }
}

#[test]
fn half_a_line_is_taken_away_and_told() {
    let sandbox = lived(1);
    let text = sandbox.read(LOG);
    sandbox.file(LOG, format!("{text}{{\"at\":\"2026-"));
    verify(&sandbox).exits(0).says("is incomplete");
    run(&sandbox, 1);
    verify(&sandbox).exits(0).says("reports a removed partial line");
}

#[test]
fn several_programs_write_one_log() {
    let sandbox = lived(1);
    let one = events(&sandbox);
    let running: Vec<_> = (0..4).map(|_| sandbox.start(&["run", "plan.md", "-q"])).collect();
    for child in running {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let did = verify(&sandbox).exits(0);
    assert!(!did.all().contains("note"), "{}", did.all());
    assert_eq!(events(&sandbox), 5 * one);
    let found = sandbox.wf(&["audit", "report", "--json"]).exits(0);
    let report: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(report["report"]["runs"]["succeeded"], 5, "{}", found.out);
    let wrong = &report["report"]["boundary_violations"];
    assert_eq!(*wrong, serde_json::json!([]), "{}", found.out);
}

#[test]
fn what_several_programs_do_is_in_one_report_each() {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", "audit: {window: 200ms}\n");
    let steps: String = (0..5).map(|n| format!("  - {{id: s{n}, run: sleep 0.2}}\n")).collect();
    let plan = format!("---\nkind: plan\nid: p\npolicy: {{max_parallel: 1}}\nsteps:\n{steps}---\n");
    sandbox.file("plan.md", plan);
    let running: Vec<_> = (0..3).map(|_| sandbox.start(&["run", "plan.md", "-q"])).collect();
    for child in running {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    verify(&sandbox).exits(0);
    let all = lines(&sandbox);
    let reports: Vec<serde_json::Value> = all
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|record| record["kind"] == "report")
        .map(|record| record["about"].clone())
        .collect();
    let sum = |of: &dyn Fn(&serde_json::Value) -> &serde_json::Value| -> u64 {
        reports.iter().filter_map(|report| of(report).as_u64()).sum()
    };
    assert!(reports.iter().any(|report| report["trigger"] == "periodic"));
    assert_eq!(sum(&|report| &report["tasks_observed"]), 15, "{reports:?}");
    assert_eq!(sum(&|report| &report["runs"]["started"]), 3);
    assert_eq!(sum(&|report| &report["runs"]["succeeded"]), 3);
    for report in &reports {
        assert_eq!(report["boundary_violations"], serde_json::json!([]), "{report}");
    }
}

#[test]
fn a_log_that_cannot_be_written_stops_the_start_of_a_run() {
    let sandbox = lived(1);
    std::fs::remove_dir_all(sandbox.at(".wf/audit")).unwrap();
    sandbox.file(".wf/audit", "a file");
    sandbox.wf(&["run", "plan.md"]).exits(6).says("audit log");
}

#[test]
fn records_are_followed_while_they_are_written() {
    let sandbox = lived(1);
    let (heard, out) = tempfile::NamedTempFile::new().unwrap().into_parts();
    let mut follower = sandbox.command(&["audit", "tail", "-n", "0", "--follow", "--json"]);
    let mut follower = follower.stdout(heard).spawn().unwrap();
    run(&sandbox, 1);
    until("the end is heard", || {
        let heard = std::fs::read_to_string(&out).unwrap();
        heard.contains("\"kind\":\"closed\"")
    });
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn nothing_secret_is_in_the_audit_log() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plan.md",
        "---\nkind: plan\nid: plan\nparams: {word: {type: string}}\nsteps:\n\
         \x20 - id: a\n    run: echo text=outputvalue >> $WF_OUTPUT; echo printedvalue; exit 0\n\
         \x20   outputs: {text: {type: string}}\n    env: {WORD: \"{{ params.word }}\"}\n---\n",
    );
    sandbox.wf(&["run", "plan.md", "-p", "word=paramvalue"]).exits(0);
    let log = sandbox.read(LOG);
    for word in ["outputvalue", "printedvalue", "paramvalue"] {
        assert!(!log.contains(word), "{word}: {log}");
    }
}

#[test]
fn a_run_that_is_killed_at_work_is_read_in_the_database() {
    let sandbox = lived(1);
    sandbox.file(
        "slow.md",
        "---\nkind: plan\nid: slow\nsteps:\n\
         \x20 - {id: a, run: \"touch on; until [ -e go ]; do sleep 0.01; done\"}\n---\n",
    );
    let mut child = sandbox.start(&["run", "slow.md"]);
    until("the step runs", || sandbox.at("on").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let did = verify(&sandbox).exits(0);
    drop(did);
    sandbox.file("go", "");
    sandbox.wf(&["resume", "--last"]).exits(0);
    let did = verify(&sandbox).exits(0);
    assert!(!did.all().contains("note"), "{}", did.all());
    sandbox.wf(&["audit", "tail", "-n", "100"]).says("found_dead");
}

#[test]
fn others_can_check_it() {
    let sandbox = lived(1);
    let document = std::fs::read_to_string("docs/audit.md").unwrap();
    let script = document
        .split("```sh\n")
        .find_map(|part| part.starts_with("prev=").then(|| part.split("```").next()))
        .flatten()
        .unwrap();
    let check = || {
        let mut shell = sandbox.program("sh");
        let output = shell.args(["-ec", script]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), told)
    };
    if sandbox.program("jq").arg("--version").output().is_err() {
        return;
    }
    assert_eq!(check(), (true, String::new()));
    let mut lines = lines(&sandbox);
    lines[4] = lines[4].replace("\"v\":1", "\"v\":9");
    lines.remove(6);
    put(&sandbox, &lines);
    let (_, told) = check();
    assert!(told.contains("changed: ") && told.contains("does not follow: "), "{told}");
}
