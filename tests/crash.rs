//! The program is killed for real, and goes on.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::support::{Sandbox, until};

/// A chain of steps, each of which leaves a line when it runs.
fn chain(length: usize, more: &str) -> String {
    let mut text = String::from("---\nkind: plan\nid: chain\nsteps:\n");
    for at in 0..length {
        let needs = if at == 0 { String::new() } else { format!(", depends_on: [s{}]", at - 1) };
        let _ = writeln!(text, "  - {{id: s{at}, run: \"echo s{at} >> ran.txt; sleep 0.02\"{needs}{more}}}");
    }
    text + "---\n"
}

/// How often each step ran.
fn times(sandbox: &Sandbox) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for line in sandbox.read("ran.txt").lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    times
}

fn kill_after(sandbox: &Sandbox, args: &[&str], lines: usize) {
    let mut child = sandbox.start(args);
    until("enough steps ran", || sandbox.read("ran.txt").lines().count() >= lines);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_run_goes_on_and_repeats_no_committed_step() {
    for lines in [1, 4, 9] {
        let sandbox = Sandbox::new();
        sandbox.file("chain.md", chain(12, ", idempotent: true"));
        kill_after(&sandbox, &["run", "chain.md"], lines);
        sandbox.wf(&["resume", "--last"]).exits(0).says("succeeded");
        let times = times(&sandbox);
        assert_eq!(times.len(), 12, "{times:?}");
        let twice: Vec<_> = times.iter().filter(|(_, n)| **n > 1).collect();
        assert!(twice.len() <= 1 && times.values().all(|n| *n <= 2), "{times:?}");
    }
}

#[test]
fn a_mistake_in_any_thread_ends_the_program_and_the_run_can_go_on() {
    for point in [20, 21, 22, 23, 24] {
        let sandbox = Sandbox::new();
        sandbox.file("chain.md", chain(6, ", idempotent: true"));
        let mut command = sandbox.command(&["run", "chain.md"]);
        command.env("WF_CRASH", format!("engine:panic={point}"));
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{told}");
        assert!(told.contains("the record of your run is intact"), "{told}");
        sandbox.wf(&["resume", "--last"]).exits(0).says("succeeded");
        assert_eq!(times(&sandbox).len(), 6);
    }
}

/// Kills the engine and the keeper of its processes.
pub fn kill_both(child: &mut std::process::Child) {
    let keeper = keeper_of(child.id()).expect("an engine has a keeper");
    child.kill().unwrap();
    child.wait().unwrap();
    let keeper = rustix::process::Pid::from_raw(keeper).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
}

/// The only child of an engine, if it lives.
pub fn keeper_of(engine: u32) -> Option<i32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut found = processes.filter_map(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.to_owned();
        let pid = process.file_name().to_str()?.parse().ok()?;
        (parent == engine.to_string()).then_some(pid)
    });
    found.next()
}

#[test]
fn what_nobody_saw_end_is_said_to_be_interrupted() {
    let sandbox = Sandbox::new();
    sandbox.file("chain.md", chain(3, "").replace("sleep 0.02", "sleep 50"));
    let mut child = sandbox.start(&["run", "chain.md"]);
    until("the step runs", || sandbox.at("ran.txt").exists());
    kill_both(&mut child);
    sandbox.wf(&["resume", "--last"]).exits(1).says("interrupted");
    assert_eq!(times(&sandbox).len(), 1, "nothing was run again");
    let left = lines_of_ps(&sandbox);
    assert!(left.is_empty(), "{left:?}");
}

/// The processes that run in a sandbox.
pub fn lines_of_ps(sandbox: &Sandbox) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let here = processes.filter(|process| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == sandbox.path())
    });
    here.map(|process| std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default()).collect()
}

#[test]
fn a_long_step_survives_three_engines_and_runs_once() {
    let sandbox = Sandbox::new();
    let plan = "---\nkind: plan\nid: long\nsteps:\n  - id: a\n    outputs: {n: {type: integer}}\n    run: |\n\
                \x20     echo begun >> ran.txt\n      until [ -e go ]; do echo tick; sleep 0.01; done\n\
                \x20     echo n=7 >> \"$WF_OUTPUT\"; echo last words\n\
                \x20 - {id: b, depends_on: [a], run: \"echo got $N >> ran.txt\", env: {N: \"{{ steps.a.outputs.n }}\"}}\n---\n";
    sandbox.file("long.md", plan);
    let mut engine = sandbox.start(&["run", "long.md"]);
    until("the step runs", || sandbox.at("ran.txt").exists());
    for _ in 0..3 {
        engine.kill().unwrap();
        engine.wait().unwrap();
        engine = sandbox.start(&["resume", "--last"]);
        let works = format!("\"pid\":{},", engine.id());
        until("the next engine works", || {
            let shown = sandbox.wf(&["show", "--last", "--json"]).out;
            shown.replace(' ', "").contains(&works)
        });
    }
    sandbox.file("go", "");
    let output = engine.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sandbox.read("ran.txt"), "begun\ngot 7\n");
    sandbox.wf(&["logs", "--last", "a"]).exits(0).says("last words");
    sandbox.wf(&["show", "--last"]).exits(0).says("succeeded");
    let kept = std::fs::read_dir(sandbox.at(".wf/keepers")).unwrap().count();
    assert_eq!(kept, 0, "nothing is left of the keepers");
    assert!(lines_of_ps(&sandbox).is_empty());
}

#[test]
fn a_lock_keeps_others_from_what_an_engine_left_running() {
    let sandbox = Sandbox::new();
    let plan = |id: &str, script: &str| {
        format!(
            "---\nkind: plan\nid: {id}\nsteps:\n  - {{id: a, concurrency: door, run: \"{script}\"}}\n---\n"
        )
    };
    sandbox.file(
        "first.md",
        plan("first", "echo in >> ran.txt; until [ -e go ]; do sleep 0.01; done; echo out >> ran.txt"),
    );
    sandbox.file("second.md", plan("second", "echo second >> ran.txt"));
    let mut first = sandbox.start(&["run", "first.md"]);
    until("the step runs", || sandbox.at("ran.txt").exists());
    first.kill().unwrap();
    first.wait().unwrap();
    let second = sandbox.start(&["run", "second.md"]);
    until("the second waits for the lock", || sandbox.wf(&["runs", "--json"]).out.contains("second"));
    assert_eq!(sandbox.read("ran.txt"), "in\n");
    sandbox.file("go", "");
    assert!(second.wait_with_output().unwrap().status.success());
    assert_eq!(sandbox.read("ran.txt"), "in\nout\nsecond\n");
    let runs = sandbox.wf(&["runs", "--plan", "first"]).out;
    let id = runs.lines().nth(1).and_then(|line| line.split(' ').next()).unwrap().to_owned();
    sandbox.wf(&["resume", &id]).exits(0);
    assert_eq!(sandbox.read("ran.txt"), "in\nout\nsecond\n", "it ran once");
}

#[test]
fn the_scene_of_the_orphan_has_one_writer() {
    let sandbox = Sandbox::new();
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/orphan/scene.sh");
    let mut played = sandbox.program("bash");
    played.arg(scene).env("WF", env!("CARGO_BIN_EXE_wf"));
    let output = played.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("  20 lines by process"), "{told}");
}

#[test]
fn a_nested_run_goes_on_where_it_was() {
    let sandbox = Sandbox::new();
    sandbox.file("chain.md", chain(10, ", idempotent: true"));
    sandbox.file("outer.md", "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: chain.md}\n---\n");
    kill_after(&sandbox, &["run", "outer.md"], 4);
    sandbox.wf(&["resume", "--last"]).exits(0);
    let times = times(&sandbox);
    assert_eq!(times.len(), 10, "{times:?}");
    assert!(times.values().filter(|n| **n > 1).count() <= 1, "{times:?}");
}

#[test]
fn a_generated_plan_goes_on_by_the_text_that_was_read() {
    let sandbox = Sandbox::new();
    let made = chain(10, ", idempotent: true, allow: {write: [ran.txt]}");
    sandbox.file("ran.txt", "").file("made.json", serde_json::json!({ "plan": made }).to_string());
    let outer = "---\nkind: plan\nid: outer\nsteps:\n  - id: write\n    allow: {}\n\
                 \x20   run: cat made.json >> \"$WF_OUTPUT\"\n    outputs: {plan: {type: string}}\n  - id: work\n\
                 \x20   depends_on: [write]\n    uses:\n      text: \"{{ steps.write.outputs.plan }}\"\n\
                 \x20     within: {allow: {write: [ran.txt]}}\n---\n";
    sandbox.file("outer.md", outer);
    kill_after(&sandbox, &["run", "outer.md"], 4);
    sandbox.file("made.json", "{}");
    sandbox.wf(&["resume", "--last"]).exits(0);
    let times = times(&sandbox);
    assert_eq!(times.len(), 10, "{times:?}");
    assert!(times.values().filter(|n| **n > 1).count() <= 1, "{times:?}");
}

#[test]
fn a_run_that_is_worked_on_is_not_worked_on_twice() {
    let sandbox = Sandbox::new();
    sandbox
        .file("slow.md", "---\nkind: plan\nid: slow\nsteps:\n  - {id: a, run: \"touch on; sleep 5\"}\n---\n");
    let mut child = sandbox.start(&["run", "slow.md"]);
    until("the step runs", || sandbox.at("on").exists());
    let did = sandbox.wf(&["resume", "--last"]);
    assert_ne!(did.code, Some(0), "{}", did.all());
    let did = did.says("process");
    drop(did);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_interrupt_cancels_and_cleans_up() {
    let sandbox = Sandbox::new();
    let plan = "---\nkind: plan\nid: slow\nsteps:\n  - {id: a, run: \"touch on; sleep 30\"}\n\
                finally:\n  - {id: tidy, run: \"touch tidied\"}\n---\n";
    sandbox.file("slow.md", plan);
    let child = sandbox.start(&["run", "slow.md"]);
    until("the step runs", || sandbox.at("on").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(sandbox.at("tidied").exists(), "finally steps run after a cancellation");
}

#[test]
fn a_cancelled_nested_run_cleans_up_after_its_engine_died() {
    let sandbox = Sandbox::new();
    let inner = "---\nkind: plan\nid: inner\npolicy: {grace: 20s}\nsteps:\n  - id: a\n    run: |\n\
                 \x20     trap 'touch asked' TERM\n      touch on\n\
                 \x20     for i in 1 2 3 4 5 6; do sleep 0.5 || :; done\n\
                 finally:\n  - {id: tidy, run: \"touch tidied\"}\n---\n";
    let outer = "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: inner.md}\n---\n";
    sandbox.file("inner.md", inner).file("outer.md", outer);
    let mut child = sandbox.start(&["run", "outer.md"]);
    until("the step runs", || sandbox.at("on").exists());
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    until("the step is asked to end", || sandbox.at("asked").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.wf(&["resume", "--last"]).exits(130);
    assert!(sandbox.at("tidied").exists(), "nobody insisted on the end");
}

#[test]
fn a_state_that_cannot_be_written_ends_the_run_and_its_processes() {
    let sandbox = Sandbox::new();
    let plan = "---\nkind: plan\nid: full\nsteps:\n  - {id: slow, run: \"echo $$ > pid; exec sleep 60\"}\n\
                \x20 - id: many\n    for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n    max_parallel: 1\n\
                \x20   outputs: {text: {type: string}}\n\
                \x20   run: printf 'text=%060000d' 0 >> \"$WF_OUTPUT\"\n---\n";
    sandbox.file("full.md", plan);
    sandbox.wf(&["check", "full.md"]).exits(0);
    let mut limited = sandbox.program("sh");
    let limit = "trap '' XFSZ; ulimit -f 800; exec \"$0\" run full.md";
    limited.args(["-c", limit, env!("CARGO_BIN_EXE_wf")]);
    let output = limited.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{told}");
    let pid: i32 = sandbox.read("pid").trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    until("the other step is gone", || rustix::process::test_kill_process(pid).is_err());
    sandbox.wf(&["show", "--last"]).exits(0).says("interrupted");
}

/// A run that failed inside of a plan that it uses, and can succeed now.
fn failed_inside(sandbox: &Sandbox) {
    let inner = "---\nkind: plan\nid: inner\nsteps:\n\
                 \x20 - {id: done, run: echo done >> ran.txt, idempotent: true}\n\
                 \x20 - {id: broken, run: \"echo broken >> ran.txt; test -e mended\", depends_on: [done], idempotent: true}\n---\n";
    let outer = "---\nkind: plan\nid: outer\nsteps:\n\
                 \x20 - {id: first, run: echo first >> ran.txt, idempotent: true}\n\
                 \x20 - {id: each, for_each: [a, b], uses: inner.md, depends_on: [first], max_parallel: 1}\n\
                 policy: {on_failure: continue}\n---\n";
    sandbox.file("inner.md", inner).file("outer.md", outer);
    sandbox.wf(&["run", "outer.md"]).exits(1);
    sandbox.file("ran.txt", "").file("mended", "");
}

/// Kills a command at its point of that number. True if it came so far.
pub fn killed_at(sandbox: &Sandbox, args: &[&str], point: usize) -> bool {
    let mut command = sandbox.command(args);
    command.env("WF_CRASH", format!("engine:{point}"));
    let output = command.output().unwrap();
    match output.status.code() {
        None => true,
        Some(0) => false,
        Some(code) => panic!("{code}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
fn a_retry_that_is_killed_anywhere_keeps_what_succeeded_inside() {
    let mut points = 0;
    for point in 1.. {
        let sandbox = Sandbox::new();
        failed_inside(&sandbox);
        if !killed_at(&sandbox, &["retry", "--last"], point) {
            break;
        }
        points = point;
        let began = sandbox.wf(&["runs"]).out.lines().count() > 2;
        let ended = sandbox.wf(&["show", "--last"]).out.contains("outer · succeeded");
        match (began, ended) {
            (true, true) => {}
            (true, false) => drop(sandbox.wf(&["resume", "--last"]).exits(0)),
            (false, _) => drop(sandbox.wf(&["retry", "--last"]).exits(0)),
        }
        let times = times(&sandbox);
        let kept = ["first", "done"].iter().all(|step| !times.contains_key(*step));
        assert!(kept, "at {point}: {times:?}");
        // Each ran, and none of them twice but what was under way.
        let broken = times.get("broken").copied().unwrap_or_default();
        assert!((2..=3).contains(&broken), "at {point}: {times:?}");
    }
    assert!(points > 10, "{points} points are too few to be a whole run");
}

#[test]
fn a_choice_survives_the_death_of_its_engine() {
    let sandbox = Sandbox::new();
    failed_inside(&sandbox);
    let args = ["retry", "--last", "--only", "each[b]/broken"];
    let point = (1..1000).find(|point| {
        let sandbox = Sandbox::new();
        failed_inside(&sandbox);
        killed_at(&sandbox, &args, *point) && sandbox.wf(&["runs"]).out.lines().count() > 2
    });
    assert!(killed_at(&sandbox, &args, point.unwrap()));
    sandbox.wf(&["resume", "--last"]).exits(0);
    let only = times(&sandbox);
    assert_eq!(only, BTreeMap::from([("broken".to_owned(), 1)]));
    sandbox.wf(&["show", "--last"]).says("not selected");
    sandbox.wf(&["retry", "--last"]).exits(0);
    assert_eq!(times(&sandbox)["broken"], 2, "what was left out runs now");
}
