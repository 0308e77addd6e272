use super::{Copy, lived, projections::changes, sql};
use crate::support::{Did, Sandbox};

/// The commands that decide, sign or show by what is recorded of a run, without a trace.
fn decisions(run: &str) -> [Vec<&str>; 6] {
    [
        vec!["show", run, "--json"],
        vec!["why", run, "build", "--json"],
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

/// The warning of commands that only show.
const DIFFERS: &str = "warning: the tables of the state do not agree with its log";

/// Without what differs from one time to the next, and without the warning.
fn essence(did: &Did) -> String {
    let lines = did.all();
    let lines = lines.lines().filter(|line| !line.contains("duration_ms") && !line.contains(DIFFERS));
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
    assert_eq!(codes, [Some(0), Some(0), Some(0), Some(0), Some(0), Some(2)]);
    let mut warned = 0;
    for change in changes(&sandbox) {
        sql(&sandbox, &change.attack);
        // The attack works, if the tables are asked.
        warned += usize::from(sandbox.wf(&["show", &run]).err.contains(DIFFERS));
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
    assert!(warned > 50, "only {warned} attacks change the tables");
}

#[test]
fn lists_and_pages_have_the_outcome_and_the_standings_of_the_log() {
    let sandbox = lived();
    let run = super::texts(&sandbox, "SELECT id FROM runs WHERE parent IS NULL").remove(0);
    let site = crate::web::Pages::open(&sandbox);
    let addresses = ["/", "/runs", &format!("/runs/{run}"), &format!("/runs/{run}/steps/flaky")];
    let pages = || {
        // Times that have passed are others at the next look, and the number of the last event that was seen.
        let body = |path: &&str| {
            let page = site.ask(path);
            let lines = page.split_once("\r\n\r\n").unwrap().1.lines();
            let lines = lines.filter(|line| !line.contains("<time") && !line.contains("data-log"));
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        let mut all: Vec<String> = addresses.iter().map(body).collect();
        all.push(sandbox.wf(&["runs", "--json"]).exits(0).out);
        all
    };
    let before = pages();
    assert!(before.iter().all(|page| page.contains("failed")), "{before:#?}");
    sql(&sandbox, "UPDATE runs SET outcome = 'succeeded', standing = 'verified'");
    sql(&sandbox, "UPDATE steps SET state = 'succeeded', standing = 'verified'");
    assert_eq!(pages(), before);
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
