//! What is simulated is what a daemon does.

use super::{at, goal, history};
use crate::support::{Did, Sandbox};

const FROM: &str = "2026-10-24T12:00:00Z";
const TO: &str = "2026-11-02T12:00:00Z";
/// The nights in which clocks are changed, in Europe and in America: nobody is there.
const DOWN: [(&str, &str); 2] =
    [("2026-10-24T20:00:00Z", "2026-10-25T05:10:00Z"), ("2026-10-31T23:00:00Z", "2026-11-01T11:00:00Z")];

const GOALS: [(&str, &str); 4] = [
    (
        "berlin",
        "schedule: \"30 2 * * *\"\ntimezone: Europe/Berlin\ndst: {overlap: both}\nmissed: {run: latest}",
    ),
    (
        "york",
        "schedule: \"*/30 1-2 * * *\"\ntimezone: America/New_York\nmissed: {run: all, cap: 3}\n\
         overlap: queue_all\nexclude: [2026-10-28]",
    ),
    (
        "quiet",
        "schedule: \"0 */4 * * *\"\ntimezone: Europe/Berlin\nmissed: {run: none}\noverlap: queue_one\n\
         exclude: [{from: \"22:00\", until: \"06:00\"}]",
    ),
    (
        "spread",
        "schedule: \"0 12 * * *\"\ntimezone: America/New_York\nmissed: {run: all, window: 2h}\n\
         overlap: queue_all\nsplay: 2h",
    ),
];

fn workspace() -> Sandbox {
    let sandbox = Sandbox::new();
    for (id, front) in GOALS {
        goal(&sandbox, id, front);
        sandbox.wf(&["check", &format!("goals/{id}.md")]).exits(0);
    }
    sandbox
}

/// A daemon lives from one instant to another.
fn live(sandbox: &Sandbox, from: &str, to: &str) {
    let mut command = sandbox.command(&["daemon", "-q"]);
    let did = Did::of(command.env("WF_NOW", from).env("WF_WARP", to));
    did.exits(0);
}

#[test]
fn a_simulated_ledger_is_that_of_a_daemon() {
    let simulated = workspace();
    let down = DOWN.map(|(from, to)| format!("{from}..{to}"));
    let args = ["goal", "simulate", "--json", "--from", FROM, "--to", TO];
    let args = [&args[..], &["--down", &down[0], "--down", &down[1]]].concat();
    let told = at(&simulated, FROM, &args).exits(0).out;
    let simulated: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let sandbox = workspace();
    live(&sandbox, FROM, DOWN[0].0);
    live(&sandbox, DOWN[0].1, DOWN[1].0);
    live(&sandbox, DOWN[1].1, TO);
    let mut total = 0;
    for (id, _) in GOALS {
        let mine = simulated.iter().filter(|row| row["goal"] == id);
        let wanted: Vec<String> = mine.map(line).collect();
        let found: Vec<String> = history(&sandbox, id).iter().map(line).collect();
        assert_eq!(found, wanted, "{id}");
        total += found.len();
    }
    assert!(total > 90, "{total} rows are few for nine days");
    let states = ["started", "skipped", "missed"];
    let has = |state| simulated.iter().any(|row| row["state"] == state);
    assert!(states.into_iter().all(has), "everything happened");
}

/// What both say of a slot.
fn line(row: &serde_json::Value) -> String {
    let keys = ["slot", "last", "count", "state", "cause", "reason", "at"];
    keys.map(|key| row[key].to_string()).join(" ")
}
