use super::projections::changes;
use super::{Copy, lived, sql};
use crate::support::{Did, Sandbox};

/// The commands that decide or sign by what is recorded of a run, without a trace.
fn decisions(run: &str) -> [Vec<&str>; 4] {
    [
        vec!["attest", run, "--statement"],
        vec!["verify", run, "--json"],
        vec!["retry", run, "--dry-run"],
        vec!["resume", run],
    ]
}

fn decide(sandbox: &Sandbox, run: &str) -> Vec<Did> {
    let all = decisions(run);
    all.iter().map(|command| sandbox.wf(command)).collect()
}

/// Without what differs from one time to the next.
fn essence(did: &Did) -> String {
    let lines = did.all();
    let lines = lines.lines().filter(|line| !line.contains("duration_ms"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_is_decided_and_signed_follows_the_log_and_no_table() {
    let sandbox = lived();
    let copy = Copy::of(&sandbox);
    let ids = "SELECT id FROM runs WHERE parent IS NULL";
    let run = super::texts(&sandbox, ids).remove(0);
    let before = decide(&sandbox, &run);
    let codes: Vec<_> = before.iter().map(|did| did.code).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(0), Some(2)]);
    let shown = essence(&sandbox.wf(&["show", &run, "--json"]));
    let mut seen = 0;
    for change in changes(&sandbox) {
        sql(&sandbox, &change.attack);
        // Where nothing is decided the tables are shown as they are: the attack works.
        seen += usize::from(essence(&sandbox.wf(&["show", &run, "--json"])) != shown);
        let commands = decisions(&run);
        for (command, (before, did)) in commands.iter().zip(before.iter().zip(decide(&sandbox, &run))) {
            assert_eq!(
                (did.code, essence(&did)),
                (before.code, essence(before)),
                "wf {} after {}",
                command.join(" "),
                change.attack
            );
        }
        copy.put_back(&sandbox);
    }
    assert!(seen > 30, "only {seen} attacks change what is shown");
}

#[test]
fn a_nested_run_cannot_be_hidden_from_an_attestation() {
    let sandbox = lived();
    let said = |sandbox: &Sandbox| sandbox.wf(&["attest", "--last", "--statement"]).exits(0).out;
    let before = said(&sandbox);
    assert!(before.contains("nested_in"), "{before}");
    sql(&sandbox, "DELETE FROM runs WHERE parent IS NOT NULL");
    assert_eq!(said(&sandbox), before);
}

#[test]
fn an_altered_event_stops_who_decides() {
    let sandbox = lived();
    let change = "UPDATE events SET body = replace(body, '\"reported\"', '\"verified\"')
                  WHERE body LIKE '%\"reported\"%'";
    sql(&sandbox, change);
    for command in decisions("--last") {
        sandbox.wf(&command).exits(6).says("was modified").says("hint: ");
    }
}
