//! The engine is killed at any moment of any plan, again and again, and the run goes on.
//!
//! `WF_TEST_KILLS` says how many kills there are, if not a few.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use crate::{
    crash::killed_at,
    sim::dice::Dice,
    support::{Sandbox, until},
};

/// How many kills there are where nobody says.
const KILLS: u32 = 30;

/// How many engines of one run are killed at most.
const ENGINES: u32 = 4;

/// Layers of steps, each of which needs some of the layer before it and leaves a line when it runs.
/// Some are checked, some wait for their turn only so long.
fn layered(dice: &mut Dice) -> (usize, String) {
    let room = 1 + dice.below(4);
    let mut text = format!("---\nkind: plan\nid: layered\npolicy: {{max_parallel: {room}}}\nsteps:\n");
    let (mut before, mut count) = (Vec::new(), 0);
    for layer in 0..2 + dice.below(4) {
        let mut here = Vec::new();
        for at in 0..=dice.below(8) {
            let id = format!("s{layer}x{at}");
            let needs: Vec<String> = before.iter().filter(|_| dice.one_in(2)).cloned().collect();
            let more = match dice.below(8) {
                0 => ", verify: [{name: ran, run: \"grep -q x ran.txt\"}]",
                1 => ", queue_timeout: 1m",
                _ => "",
            };
            let millis = dice.up_to(20);
            let _ = writeln!(
                text,
                "  - {{id: {id}, depends_on: [{}], run: \"echo {id} >> ran.txt; sleep 0.{millis:03}\"{more}}}",
                needs.join(", ")
            );
            here.push(id);
        }
        count += here.len();
        before = here;
    }
    (count, text + "---\n")
}

/// Runs a plan, kills its engines, and lets the last one go on to the end. Gives how many were
/// killed before they had ended.
fn kill(seed: u64, most: u32) -> u32 {
    let mut dice = Dice::of(seed, "kills");
    let (count, plan) = layered(&mut dice);
    let sandbox = Sandbox::new();
    sandbox.file("layered.md", &plan);
    if dice.one_in(3) {
        sandbox.file("wf.yaml", "limits: {max_parallel: 2}\n");
    }
    let shown = || format!("{plan}\n{}", sandbox.wf(&["show", "--last"]).all());
    let mut killed = 0;
    let mut args = vec!["run", "layered.md"];
    while killed < most {
        let mut engine = sandbox.start(&args);
        std::thread::sleep(Duration::from_millis(5 + u64::from(dice.up_to(150))));
        engine.kill().unwrap();
        engine.wait().unwrap();
        // It may have been killed before the run was recorded, and after its end was.
        let shown = sandbox.wf(&["show", "--last"]);
        if shown.out.contains("layered · succeeded") {
            break;
        }
        killed += 1;
        if shown.code == Some(0) {
            args = vec!["resume", "--last"];
        }
    }
    if killed == most {
        let end = sandbox.wf(&args);
        assert_eq!(end.code, Some(0), "seed {seed}:\n{}\n{}", end.all(), shown());
    }
    let mut times = BTreeMap::<String, usize>::new();
    for line in sandbox.read("ran.txt").lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    let once = times.len() == count && times.values().all(|times| *times == 1);
    assert!(once, "seed {seed}: {count} steps, {times:?}\n{}", shown());
    killed
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how many kills there are is chosen by hand")]
fn no_run_fails_because_its_engines_were_killed_and_no_step_runs_twice() {
    let kills = std::env::var("WF_TEST_KILLS").ok();
    let kills: u32 = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let (mut killed, mut seed) = (0, 0);
    while killed < kills {
        killed += kill(seed, ENGINES.min(kills - killed));
        seed += 1;
        assert!(seed < 20 * u64::from(kills), "engines were killed too late");
    }
}

/// Whether a keeper still listens.
fn is_kept(sandbox: &Sandbox) -> bool {
    let entries = std::fs::read_dir(sandbox.at(".wf/keepers")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|end| end == "sock"))
}

#[test]
fn what_was_recorded_to_begin_and_never_asked_for_is_not_in_doubt() {
    let mut points = 0;
    for point in 1.. {
        let sandbox = Sandbox::new();
        sandbox.file(
            "one.md",
            "---\nkind: plan\nid: one\nsteps:\n  - {id: a, run: \"echo a >> ran.txt\"}\n---\n",
        );
        if !killed_at(&sandbox, &["run", "one.md"], point) {
            break;
        }
        points = point;
        // A keeper that was asked for nothing leaves, and must leave its word.
        until("the keeper has left", || !is_kept(&sandbox));
        let shown = sandbox.wf(&["show", "--last"]);
        if shown.code == Some(0) && !shown.out.contains("one · succeeded") {
            sandbox.wf(&["resume", "--last"]).exits(0);
            assert_eq!(sandbox.read("ran.txt"), "a\n", "at {point}");
        }
    }
    assert!(points > 10, "{points} points are too few to be a whole run");
}
