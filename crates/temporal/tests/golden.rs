//! The plans of the golden traces: what they lead to there is what they lead to here.

use std::path::Path;

use serde_json::Value;
use wf_base::name::RunId;
use wf_core::goal::ReconciliationRunEnd;
use wf_store::{RunState, StoreReader};

use crate::{
    farm::Farm,
    mirrors::{Stories, copy, stories},
    programs::Did,
};

/// A program with every name that the plans use: some fail the first time, some always, and each leaves what plans declare.
const PROGRAM: &str = r#"#!/bin/sh
case "$0" in
  */build.sh) echo built > build.txt;;
  */test.sh) echo tested > "test-$1.txt";;
  */compile) mkdir -p out; echo compiled > out/a;;
  */one) echo "size=1" >> "$WF_OUTPUT";;
  */fetch) [ "$WF_ATTEMPT" -ge 2 ] || exit 9; [ -e rounds ] || echo "rows=3" >> "$WF_OUTPUT";;
  */first|*/work|*/each) [ "$WF_ATTEMPT" -ge 2 ] || { echo "not yet" >&2; exit 9; };;
  */aside|*/link) exit 4;;
esac
"#;

/// A check that passes.
const CHECK: &str = "#!/bin/sh\necho fine\n";

/// Writes the programs that a plan names.
fn add_programs(farm: &Farm, text: &str) {
    for name in text.split("./").skip(1) {
        let name = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').next().unwrap();
        let is_check =
            ["check", "check.sh", "whole", "lint", "unit", "right", "together", "tidy"].contains(&name);
        farm.file(name, if is_check { CHECK } else { PROGRAM });
        let place = farm.path("space").join(name);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place, mode).unwrap();
    }
}

/// Returns the end of a run as the record of the workspace shows it.
fn end_of(reader: &StoreReader, run: &RunId) -> Option<ReconciliationRunEnd> {
    let row = reader.runs().get(run).unwrap();
    let RunState::Ended(outcome) = row.state else { return None };
    let own = reader.checks().of_run(run).unwrap().into_iter().filter(|check| check.step.is_none());
    let checks = own.map(|check| check.verdict).collect();
    let (reason, is_accepted) = (row.reason, row.accepted.is_some());
    Some(ReconciliationRunEnd { outcome, reason, is_accepted, checks })
}

/// Runs a plan in a folder to its end, saying yes to whatever it asks. Returns its exit code and its events.
fn end(farm: &Farm, folder: &Path, plan: &str, on: &[&str]) -> (Option<i32>, Stories) {
    let wf = |args: &[&str]| Did::of(&mut farm.command_in(folder, args));
    let mut did = wf(&[&["run", plan], on].concat());
    assert!(matches!(did.code, Some(0 | 1 | 5)), "{}", did.all());
    let shown: Value = serde_json::from_str(&wf(&["show", "--last", "--json"]).exits(0).out).unwrap();
    let run = shown["run"]["id"].as_str().unwrap();
    for _ in 0..8 {
        if did.code != Some(5) {
            break;
        }
        wf(&["approve", run, "--yes"]).exits(0);
        did = wf(&["resume", run]);
    }
    let reader = StoreReader::from_whole_log(&folder.join(".wf")).unwrap();
    let run = RunId::from_stored(run);
    let events = reader.events().of_run(&run, 0).unwrap();
    assert_eq!(
        ReconciliationRunEnd::of_events(events.iter().map(|(_, event)| &event.fact)),
        end_of(&reader, &run)
    );
    (did.code, stories(events.iter().map(|(_, event)| serde_json::to_value(event).unwrap())))
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn the_plans_of_golden_traces_end_there_as_they_end_here() {
    let farm = Farm::new(2);
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces");
    let mut plans = 0;
    for trace in std::fs::read_dir(traces).unwrap().map(|entry| entry.unwrap().path()) {
        if trace.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let mut text = std::fs::read_to_string(&trace).unwrap();
        for (written, instead) in [
            ("30s", "300ms"),
            (" 5s", " 50ms"),
            (" 2s", " 20ms"),
            (" 1s", " 10ms"),
            // The traces are older than the rule that items have files of their own.
            ("test*.txt", "test-{{ item_key }}.txt"),
        ] {
            text = text.replace(written, instead);
        }
        add_programs(&farm, &text);
        // The one that declares no outputs.
        let rounds = farm.path("space/rounds");
        if text.contains("replan:") {
            std::fs::write(rounds, "").unwrap();
        } else {
            let _ = std::fs::remove_file(rounds);
        }
        farm.file("Makefile", "all:\n\t@echo rows=3 >> \"$$WF_OUTPUT\"\n");
        farm.file("src/a", "source").file("plan.md", text);
        let here = farm.path("here");
        let _ = std::fs::remove_dir_all(&here);
        copy(&farm.path("space"), &here);
        let (code, expected) = end(&farm, &here, "plan.md", &[]);
        let (there, told) = end(&farm, &farm.path("space"), "plan.md", &["--on", "farm"]);
        let name = trace.display();
        assert_eq!(there, code, "{name}");
        for (task, events) in &expected {
            assert_eq!(told.get(task), Some(events), "{name}: task {task}");
        }
        assert_eq!(told.len(), expected.len(), "{name}");
        plans += 1;
    }
    assert_eq!(plans, 8);
}
