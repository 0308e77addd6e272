//! Goals under the real daemon: killed, stopped, locked out, and compared with its simulation.

mod deaths;
mod edits;
mod faults;
mod idle;
mod laws;
mod leaders;
mod real;
mod same;
mod years;

use std::{collections::BTreeMap, process::Child};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use wf_base::time::Moment;

use crate::support::{Did, Sandbox};

/// A workspace with a goal that is kept whatever happens; `front` says when it is due.
fn workspace(front: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    goal(&sandbox, "kept", front);
    sandbox
}

fn goal(sandbox: &Sandbox, id: &str, front: &str) {
    let text =
        format!("---\nkind: goal\nid: {id}\n{front}\nverify:\n  - {{name: holds, run: \"true\"}}\n---\n");
    sandbox.file(&format!("goals/{id}.md"), text);
}

/// A command at an instant.
fn at(sandbox: &Sandbox, now: &str, args: &[&str]) -> Did {
    Did::of(sandbox.command(args).env("WF_NOW", now))
}

/// A line for each row of what is accounted for of a goal.
fn history(sandbox: &Sandbox, goal: &str) -> Vec<Value> {
    let did = sandbox.wf(&["goal", "history", goal, "--json", "-n", "1000000"]);
    let did = did.exits(0);
    let lines = did.out.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The slots of a history with what became of them.
fn states(history: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let slots = history.iter();
    slots.map(|row| (text(&row["slot"]), text(&row["state"]))).collect()
}

/// Each slot that was begun has one cycle of its own, which has ended, and whose look has; nothing
/// is left to be done.
#[track_caller]
fn settled(sandbox: &Sandbox, goal: &str) {
    let history = history(sandbox, goal);
    let mut looks: BTreeMap<String, usize> = BTreeMap::new();
    for row in &history {
        let state = row["state"].as_str().unwrap();
        assert!(["started", "skipped", "missed"].contains(&state), "{row}");
        if state == "started" {
            assert_eq!(row["count"], 1, "{row}");
            assert_eq!(row["cycle"]["health"], "healthy", "{row}");
            let run = row["cycle"]["run"].as_str().unwrap().to_owned();
            *looks.entry(run).or_default() += 1;
        }
    }
    assert!(looks.values().all(|count| *count == 1), "{looks:?}");
    let database = sandbox.database();
    let count = |sql: &str| -> i64 { database.query_row(sql, [], |row| row.get(0)).unwrap() };
    let begun = i64::try_from(looks.len()).unwrap();
    assert_eq!(count("SELECT count(*) FROM reconciliations"), begun);
    assert_eq!(count("SELECT count(*) FROM runs"), begun, "no other runs");
    assert_eq!(count("SELECT count(*) FROM runs WHERE outcome IS NULL"), 0);
}

/// Every slot of a goal that is due so many seconds apart is in one row, from the first that was
/// seen to the last instant at which anybody looked.
#[track_caller]
fn without_holes(sandbox: &Sandbox, goal: &str, apart: i64) {
    let history = history(sandbox, goal);
    let moment = |value: &Value| Moment::parse(value.as_str().unwrap()).unwrap().millis();
    let mut next = moment(&history.first().expect("something was due")["slot"]);
    for row in &history {
        let (slot, last) = (moment(&row["slot"]), moment(&row["last"]));
        assert_eq!(slot, next, "a hole or a double before {row}");
        let count = row["count"].as_i64().unwrap();
        assert_eq!(last, slot + (count - 1) * apart * 1000, "{row}");
        next = last + apart * 1000;
    }
    let sql = "SELECT decided_until FROM goals WHERE id = ?1";
    let database = sandbox.database();
    let decided: i64 = database.query_row(sql, [goal], |row| row.get(0)).unwrap();
    assert!(next - apart * 1000 <= decided && decided < next, "{decided}");
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The processes that run in a sandbox, and whose arguments have something among them.
fn processes(sandbox: &Sandbox, wanted: &str) -> Vec<Pid> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|process| {
        let cwd = std::fs::read_link(process.path().join("cwd")).ok()?;
        let arguments = std::fs::read_to_string(process.path().join("cmdline")).ok()?;
        let pid = process.file_name().to_str()?.parse().ok()?;
        let is_it = cwd == sandbox.path() && arguments.contains(wanted);
        is_it.then(|| Pid::from_raw(pid))?
    })
    .collect()
}
