//! Fans of short independent steps, with real processes.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{
    crash::{keeper_of, kill_both},
    support::{Sandbox, until},
};

/// A fan of steps, two at once, each of which leaves a line when it begins and when it ends.
fn fan(length: usize, more: &str) -> String {
    let mut text = format!("---\nkind: plan\nid: fan\npolicy: {{max_parallel: 2{more}}}\nsteps:\n");
    for at in 0..length {
        let _ = writeln!(
            text,
            "  - {{id: s{at}, run: \"echo +s{at} >> ran.txt; sleep 0.01; echo -s{at} >> ran.txt\"}}"
        );
    }
    text + "---\n"
}

/// The most that were under way at once, and how often each step began.
fn seen(sandbox: &Sandbox) -> (usize, BTreeMap<String, usize>) {
    let (mut now, mut most) = (0_usize, 0);
    let mut times = BTreeMap::new();
    for line in sandbox.read("ran.txt").lines() {
        if let Some(step) = line.strip_prefix('+') {
            now += 1;
            most = most.max(now);
            *times.entry(step.to_owned()).or_default() += 1;
        } else {
            now = now.saturating_sub(1);
        }
    }
    (most, times)
}

/// How many events of a kind are recorded.
fn events(sandbox: &Sandbox, kind: &str) -> usize {
    let database = sandbox.database();
    let count = "SELECT count(*) FROM events WHERE kind = ?1";
    database.busy_timeout(std::time::Duration::from_secs(9)).unwrap();
    let count = database.query_row(count, [kind], |row| row.get::<_, u32>(0));
    count.unwrap() as usize
}

#[test]
fn no_more_run_at_once_than_may_and_each_runs_once() {
    let sandbox = Sandbox::new();
    sandbox.file("fan.md", fan(40, ""));
    sandbox.wf(&["run", "fan.md"]).exits(0);
    let (most, times) = seen(&sandbox);
    assert_eq!((most, times.len()), (2, 40));
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    assert_eq!(events(&sandbox, "attempt_started"), 40);
}

#[test]
fn nothing_begins_after_a_failure_though_others_end_well() {
    let sandbox = Sandbox::new();
    let steps = "  - {id: bad, run: \"sleep 0.1; exit 1\"}\n  \
                 - {id: good, run: \"sleep 0.2\"}\n  \
                 - {id: s2, run: touch began}\n  \
                 - {id: s3, run: touch began}\n";
    let plan = format!("---\nkind: plan\nid: fan\npolicy: {{max_parallel: 2}}\nsteps:\n{steps}---\n");
    sandbox.file("fan.md", plan);
    sandbox.wf(&["run", "fan.md"]).exits(1);
    assert!(!sandbox.at("began").exists());
    assert_eq!(events(&sandbox, "attempt_started"), 2);
}

#[test]
fn a_failure_ends_no_other_step_but_as_succeeded_or_not_started() {
    let mut text = String::from("---\nkind: plan\nid: fan\npolicy: {max_parallel: 4}\nsteps:\n");
    for at in 0..60 {
        // What runs beside the failure outlasts it.
        let script = if at == 20 { "exit 1" } else { "sleep 0.1" };
        let _ = writeln!(text, "  - {{id: s{at}, run: {script}}}");
    }
    let sandbox = Sandbox::new();
    sandbox.file("fan.md", text + "---\n");
    sandbox.wf(&["run", "fan.md"]).exits(1);
    let database = sandbox.database();
    let mut ends = database
        .prepare(
            "SELECT json_extract(body, '$.state'), count(*) FROM events WHERE kind = 'step_ended' GROUP BY 1",
        )
        .unwrap();
    let ends = ends.query_map([], |row| Ok((row.get(0)?, row.get::<_, u32>(1)? as usize))).unwrap();
    let ends: BTreeMap<String, usize> = ends.map(Result::unwrap).collect();
    let of = |state: &str| ends.get(state).copied().unwrap_or(0);
    assert_eq!((of("failed"), of("succeeded") + of("skipped")), (1, 59), "{ends:?}");
    assert!(of("skipped") > 0, "{ends:?}");
    assert_eq!(events(&sandbox, "attempt_started"), 1 + of("succeeded"));
}

#[test]
fn where_a_run_goes_on_after_failures_each_step_runs_once() {
    let sandbox = Sandbox::new();
    let plan = fan(30, ", on_failure: continue");
    // Every fifth fails.
    let mut text = String::new();
    for (at, line) in plan.lines().enumerate() {
        let fails = line.contains("id: s") && at % 5 == 0;
        let _ = writeln!(text, "{}", line.replace("\"}", if fails { "; exit 3\"}" } else { "\"}" }));
    }
    sandbox.file("fan.md", text);
    sandbox.wf(&["run", "fan.md"]).exits(1);
    let (most, times) = seen(&sandbox);
    assert_eq!((most, times.len()), (2, 30));
    assert!(times.values().all(|times| *times == 1), "{times:?}");
}

#[test]
fn what_waits_does_not_begin_once_the_engine_is_dead_and_each_runs_once_all_the_same() {
    for point in (20..90).step_by(7) {
        let sandbox = Sandbox::new();
        sandbox.file("fan.md", fan(12, ""));
        let mut command = sandbox.command(&["run", "fan.md"]);
        command.env("WF_CRASH", format!("engine:{point}"));
        let ended = command.output().unwrap().status.success();
        let resumed = sandbox.wf(&["resume", "--last"]);
        if ended || resumed.all().contains("has already finished") {
            assert!(point > 40, "it ended before it was killed at {point}");
            break;
        }
        resumed.exits(0).says("succeeded");
        let (most, times) = seen(&sandbox);
        assert_eq!((most, times.len()), (2, 12), "point {point}");
        assert!(times.values().all(|times| *times == 1), "{point}: {times:?}");
    }
}

#[test]
fn what_never_began_is_not_in_doubt_when_all_were_killed() {
    let sandbox = Sandbox::new();
    sandbox.file("fan.md", fan(6, ", on_failure: continue").replace("0.01", "30"));
    let mut child = sandbox.start(&["run", "fan.md"]);
    until("two steps run", || sandbox.read("ran.txt").lines().count() == 2);
    assert!(keeper_of(child.id()).is_some());
    kill_both(&mut child);
    let mut resumed = sandbox.start(&["resume", "--last"]);
    until("two others run", || sandbox.read("ran.txt").lines().count() == 4);
    assert_eq!(events(&sandbox, "attempt_started"), 4);
    let (_, times) = seen(&sandbox);
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    kill_both(&mut resumed);
}

#[test]
fn whoever_is_told_to_end_begins_nothing_that_waits() {
    let sandbox = Sandbox::new();
    sandbox.file("fan.md", fan(6, "").replace("0.01", "30"));
    let mut child = sandbox.start(&["run", "fan.md"]);
    until("two steps run", || sandbox.read("ran.txt").lines().count() == 2);
    let engine = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(engine, rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    assert_eq!(sandbox.read("ran.txt").lines().count(), 2);
    sandbox.wf(&["show", "--last"]).says("cancelled");
}

#[test]
fn what_cannot_even_begin_holds_nobody_up() {
    let mut text =
        String::from("---\nkind: plan\nid: fan\npolicy: {max_parallel: 2, on_failure: continue}\nsteps:\n");
    for at in 0..16 {
        let work = match at % 4 {
            1 => "exec: [no-such-program]".into(),
            3 => "cwd: missing, run: echo never".into(),
            _ => format!("run: \"echo +s{at} >> ran.txt; echo -s{at} >> ran.txt\""),
        };
        let _ = writeln!(text, "  - {{id: s{at}, {work}}}");
    }
    let sandbox = Sandbox::new();
    sandbox.file("fan.md", text + "---\n");
    let ended = sandbox.wf(&["run", "fan.md"]).exits(1);
    ended.says("8 failed, 8 reported");
    let (most, times) = seen(&sandbox);
    assert!(most <= 2, "{most}");
    assert_eq!(times.len(), 8);
}
