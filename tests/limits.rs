//! The steps of all runs of a workspace share its limits, in real processes.

use crate::support::{Sandbox, until};

/// A script that notes how many steps execute while it does.
const COUNTS: &str = "mkdir on/$WF_RUN.$WF_STEP.$WF_ITEM && ls on | wc -l >> counts.txt && sleep 0.15 && \
                      rmdir on/$WF_RUN.$WF_STEP.$WF_ITEM";

/// A plan with one step for each of some items, all of which are ready at once.
fn fan(id: &str, items: usize, script: &str) -> String {
    let items: Vec<String> = (0..items).map(|item| item.to_string()).collect();
    format!(
        "---\nkind: plan\nid: {id}\npolicy: {{max_parallel: 8}}\nsteps:\n  - id: s\n    for_each: [{}]\n    \
         run: \"{script}\"\n---\n",
        items.join(", ")
    )
}

/// A plan whose step executes until there is a file `go`.
fn holding(id: &str) -> String {
    let holds = "echo in >> ran.txt; until [ -e go ]; do sleep 0.01; done; echo out >> ran.txt";
    format!("---\nkind: plan\nid: {id}\nsteps:\n  - {{id: a, run: \"{holds}\"}}\n---\n")
}

fn limited(limits: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("wf.yaml", format!("limits: {{{limits}}}\n"));
    sandbox
}

/// Fails unless nobody has a permit, or waits for one.
fn nothing_left(sandbox: &Sandbox) {
    let count = |db: rusqlite::Connection| {
        db.query_row("SELECT count(*) FROM permits", [], |row| row.get::<_, u32>(0))
    };
    assert_eq!(count(sandbox.database()), Ok(0));
    sandbox.wf(&["queue", "list"]).exits(0).says("nothing is waiting");
}

#[test]
fn steps_of_all_processes_count_together() {
    for (limits, most) in [("max_parallel: 3", 3), ("max_parallel: 6, max_parallel_per_run: 1", 3)] {
        let sandbox = limited(limits);
        sandbox.file("on/.keep", "").file("many.md", fan("many", 12, COUNTS));
        let runs = ["many.md"; 3].map(|path| sandbox.start(&["run", path]));
        for run in runs {
            let output = run.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let counts = sandbox.read("counts.txt");
        let counts: Vec<usize> = counts.split_whitespace().map(|count| count.parse().unwrap()).collect();
        assert_eq!((counts.len(), counts.iter().max()), (36, Some(&most)), "{limits}: {counts:?}");
        nothing_left(&sandbox);
    }
}

#[test]
fn a_run_of_many_steps_lets_one_of_few_pass() {
    let sandbox = limited("max_parallel: 1");
    sandbox.file("hot.md", fan("hot", 300, "echo hot >> ran.txt"));
    sandbox.file("cold.md", fan("cold", 3, "echo cold >> ran.txt"));
    let lines = || sandbox.read("ran.txt").lines().map(str::to_owned).collect::<Vec<_>>();
    let hot = sandbox.start(&["run", "hot.md"]);
    until("the hot run is under way", || lines().len() > 10);
    sandbox.wf(&["run", "cold.md"]).exits(0);
    let then = lines();
    assert!(then.len() < 300, "the cold run ended first");
    let colds: Vec<usize> = (0..then.len()).filter(|at| then[*at] == "cold").collect();
    assert_eq!(colds.len(), 3);
    // Once all of them wait, it is their turn every second time.
    assert!(colds[2] - colds[1] <= 2, "{colds:?} of {}", then.len());
    assert!(hot.wait_with_output().unwrap().status.success());
    assert_eq!(lines().len(), 303);
    nothing_left(&sandbox);
}

#[test]
fn a_session_of_many_runs_lets_another_one_pass() {
    let sandbox = limited("max_parallel: 1");
    sandbox.file("hot.md", fan("hot", 60, "echo hot >> ran.txt"));
    sandbox.file("cold.md", fan("cold", 3, "echo cold >> ran.txt"));
    for session in ["hot", "cold"] {
        sandbox.wf(&["session", "new", session]).exits(0);
    }
    let hot = [(); 2].map(|()| sandbox.start(&["run", "hot.md", "--session", "hot"]));
    until("the hot session is under way", || sandbox.read("ran.txt").lines().count() > 5);
    sandbox.wf(&["run", "cold.md", "--session", "cold"]).exits(0);
    let ran = sandbox.read("ran.txt");
    let colds: Vec<usize> =
        ran.lines().enumerate().filter(|(_, line)| *line == "cold").map(|(at, _)| at).collect();
    assert!(colds.len() == 3 && ran.lines().count() < 120, "the cold session ended first");
    // It has one of two turns, though the other session has two runs.
    assert!(colds[2] - colds[1] <= 2, "{colds:?}");
    for run in hot {
        assert!(run.wait_with_output().unwrap().status.success());
    }
    nothing_left(&sandbox);
}

#[test]
fn work_of_a_killed_engine_counts_until_it_has_ended() {
    let sandbox = limited("max_parallel: 1");
    let first = holding("first").trim_end_matches("---\n").to_owned();
    sandbox.file("first.md", first + "  - {id: b, run: \"echo b >> ran.txt\"}\n---\n");
    sandbox.file("second.md", fan("second", 2, "echo second >> ran.txt"));
    let mut first = sandbox.start(&["run", "first.md"]);
    let waits = |step: &str| sandbox.wf(&["queue", "list"]).out.contains(&format!("-{step}  "));
    until("a step runs and another waits", || sandbox.at("ran.txt").exists() && waits("b"));
    first.kill().unwrap();
    first.wait().unwrap();
    let second = sandbox.start(&["run", "second.md"]);
    // One step got the permit, and waits for the work of the dead; the other waits for it.
    until("a step waits behind another one", || sandbox.wf(&["queue", "list"]).out.contains("after step s["));
    assert_eq!(sandbox.read("ran.txt"), "in\n");
    sandbox.file("go", "");
    assert!(second.wait_with_output().unwrap().status.success());
    assert_eq!(sandbox.read("ran.txt"), "in\nout\nsecond\nsecond\n");
    let first = "SELECT id FROM runs WHERE plan = 'first'";
    let first: String = sandbox.database().query_row(first, [], |row| row.get(0)).unwrap();
    sandbox.wf(&["resume", &first]).exits(0);
    assert_eq!(sandbox.read("ran.txt"), "in\nout\nsecond\nsecond\nb\n", "what waited ran once");
    nothing_left(&sandbox);
}

#[test]
fn steps_that_wait_hold_nobody_up() {
    let sandbox = limited("max_parallel: 1");
    let program = env!("CARGO_BIN_EXE_wf");
    let inner = fan("inner", 3, "echo inner >> ran.txt");
    sandbox.file("plain.md", inner.replace("id: inner", "id: plain"));
    let inner = inner.replace("    run:", "    concurrency: turn\n    run:");
    sandbox.file("inner.md", inner);
    sandbox.file(
        "outer.md",
        format!(
            "---\nkind: plan\nid: outer\nsteps:\n  - {{id: one, uses: inner.md}}\n  - {{id: two, uses: inner.md}}\n  \
             - {{id: nap, wait: {{duration: 1ms}}}}\n  - {{id: script, run: \"{program} run plain.md\"}}\n---\n"
        ),
    );
    sandbox.wf(&["run", "outer.md"]).exits(0);
    assert_eq!(sandbox.read("ran.txt").lines().count(), 9);
    nothing_left(&sandbox);
}

#[test]
fn a_step_says_which_limit_keeps_it_back_and_can_be_cancelled() {
    let sandbox = limited("max_parallel: 2, max_parallel_per_run: 1");
    sandbox.file("first.md", holding("first")).file("other.md", holding("other"));
    let first = sandbox.start(&["run", "first.md"]);
    let other = sandbox.start(&["run", "other.md"]);
    until("both steps run", || sandbox.read("ran.txt") == "in\nin\n");
    let third = sandbox.start(&["run", "first.md"]);
    let waits = "waits for its turn to execute, after step a of run";
    until("the third is in the queue", || sandbox.wf(&["queue", "list"]).out.contains(waits));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let id = third.id().to_string();
    sandbox.program("kill").args(["-INT", &id]).status().unwrap();
    let output = third.wait_with_output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("at most 2 steps at once, as `limits.max_parallel` in wf.yaml says"), "{told}");
    sandbox.file("go", "");
    for run in [first, other] {
        assert!(run.wait_with_output().unwrap().status.success());
    }
    assert_eq!(sandbox.read("ran.txt"), "in\nin\nout\nout\n");
    nothing_left(&sandbox);
}

#[test]
fn without_limits_nothing_asks_for_a_permit() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", fan("plan", 3, "echo x >> ran.txt"));
    sandbox.wf(&["run", "plan.md"]).exits(0);
    let refuse = "CREATE TRIGGER t BEFORE INSERT ON permits BEGIN SELECT raise(ABORT, 'asked'); END";
    sandbox.database().execute_batch(refuse).unwrap();
    sandbox.wf(&["run", "plan.md"]).exits(0);
    sandbox.file("wf.yaml", "limits: {max_parallel: 1}\n");
    let asked = sandbox.wf(&["run", "plan.md"]);
    assert!(asked.code != Some(0) && asked.all().contains("asked"), "{}", asked.all());
}
