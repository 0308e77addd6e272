use std::time::Duration;

use serde_json::{Value, json};

use super::{Drift, GapTrend, PlanSums, Report, Thrash, Trend, Trigger, Unseen, Window};
use crate::audit::record::{BEGINNING, Entry, Record, Source};
use crate::audit::words::REPORT;
use crate::bus::Bound;
use crate::digest::Digest;
use crate::name::{PlanId, RunId};
use crate::time::Moment;

fn run() -> RunId {
    RunId::from_bytes([7; 16])
}

fn entry(at: i64, kind: &str, place: &str, about: &Value) -> Entry {
    let mut entry = Entry::new(Moment::from_millis(at), kind).about(about);
    entry.run = Some(run());
    entry.plan = PlanId::parse("plan").ok();
    entry.place = (!place.is_empty()).then(|| place.to_owned());
    entry
}

fn ruled(at: i64, attempt: u64, passes: bool) -> Entry {
    let ruling = if passes { "pass" } else { "fail" };
    let about = json!({"attempt": attempt, "verdict": {"name": "fine", "ruling": ruling}});
    entry(at, "criterion_judged", "a", &about)
}

fn attempt(at: i64, number: u64, passes: bool) -> Vec<Entry> {
    let about = json!({ "attempt": number });
    vec![
        entry(at, "attempt_started", "a", &about),
        entry(
            at,
            "attempt_ended",
            "a",
            &json!({"attempt": number, "exit": {"how": "code", "code": 0}}),
        ),
        ruled(at, number, passes),
    ]
}

/// A run with three attempts of a step, the last of which holds.
fn story() -> Vec<Entry> {
    let mut story = vec![entry(0, "run_started", "", &json!({}))];
    for number in 1..4 {
        story.extend(attempt(
            i64::try_from(number).unwrap() * 10,
            number,
            number == 3,
        ));
    }
    story.push(entry(40, "step_ended", "a", &json!({"state": "succeeded"})));
    story.push(entry(50, "run_ended", "", &json!({"outcome": "succeeded"})));
    story
}

fn bound(entries: Vec<Entry>) -> Vec<Record> {
    let mut prev = BEGINNING.into();
    let records = entries.into_iter().zip(1..).map(|(entry, n)| {
        let record = entry.bind(n, prev);
        prev = record.hash;
        record
    });
    records.collect()
}

fn seen(entries: Vec<Entry>) -> Report {
    let mut window = Window::default();
    for record in bound(entries) {
        window.add(&record);
    }
    window.report(Trigger::OnDemand, None)
}

#[test]
fn a_run_is_summed_up() {
    let report = seen(story());
    assert_eq!((report.runs.started, report.runs.succeeded), (1, 1));
    assert_eq!((report.tasks_observed, report.total_corrections), (1, 2));
    let trend = GapTrend {
        run: run(),
        place: "a".into(),
        trend: Trend::Improving,
        gaps: vec![(1, 1), (1, 1), (0, 1)],
    };
    assert_eq!(report.gap_trends, [trend]);
    assert_eq!(report.thrashing, []);
    assert_eq!(report.boundary_violations, [""; 0]);
    let sums = PlanSums {
        runs: 1,
        millis: 50,
        judged: 3,
        passed: 1,
    };
    assert_eq!(report.history["plan"], sums);
}

#[test]
fn equal_failures_in_a_row_are_thrashing() {
    let mut entries = vec![entry(0, "run_started", "", &json!({}))];
    entries.extend((1..4).flat_map(|number| attempt(10, number, false)));
    let expected = Thrash::Attempts {
        run: run(),
        place: "a".into(),
        times: 3,
    };
    assert_eq!(seen(entries).thrashing, [expected]);
}

#[test]
fn what_no_role_may_cause_is_told() {
    let short = run().short().to_owned();
    let ended = |number: u64| entry(60, "attempt_ended", "a", &json!({ "attempt": number }));
    for (at, more, said) in [
        (5, ended(9), "a ended attempt 9, which was not under way"),
        (11, story().remove(10), "a ended twice"),
        (12, ended(3), "attempt_ended came after its end"),
        (1, story().remove(0), "began twice"),
    ] {
        let mut entries = story();
        entries.insert(at, more);
        let found = seen(entries).boundary_violations;
        let one = found
            .iter()
            .any(|found| found.contains(said) && found.contains(&short));
        assert!(one, "{said}: {found:?}");
    }
    // Of a run whose beginning was not seen, less can be said.
    let half = story().split_off(5);
    assert_eq!(seen(half).boundary_violations, [""; 0]);
}

#[test]
fn a_window_goes_on_behind_the_last_report_as_if_there_had_been_no_restart() {
    let mut entries = story();
    let report = seen(story());
    entries.push(Entry::new(Moment::from_millis(60), REPORT).about(&report));
    entries.extend(story());
    let records = bound(entries);
    let (mut all, mut rest) = (Window::default(), Window::default());
    for record in &records {
        all.add(record);
    }
    for record in records.iter().skip(12) {
        rest.add(record);
    }
    let told = all.report(Trigger::End, None);
    assert_eq!(told, rest.report(Trigger::End, None));
    assert_eq!((told.from, told.runs.started), (14, 1));
    assert_eq!(told.history["plan"].runs, 2);
    assert!(!all.is_over(Duration::from_secs(1)) && all.is_over(Duration::from_millis(50)));
    // Who asks for everything is told of both windows.
    let mut whole = Window::whole();
    for record in &records {
        whole.add(record);
    }
    let told = whole.report(Trigger::OnDemand, None);
    assert_eq!((told.runs.started, told.history["plan"].runs), (2, 2));
}

#[test]
fn a_plan_that_does_worse_than_in_earlier_windows_drifts() {
    let mut entries = Vec::new();
    let before = PlanSums {
        runs: 3,
        millis: 150,
        judged: 10,
        passed: 10,
    };
    let past = Report {
        history: [("plan".to_owned(), before)].into(),
        ..Report::default()
    };
    entries.push(Entry::new(Moment::default(), REPORT).about(&past));
    entries.extend(story());
    let expected = Drift::PassRate {
        plan: "plan".into(),
        before: 100,
        now: 33,
    };
    assert_eq!(seen(entries).drift, [expected]);
}

/// The end of a round that ordered this, with D in hundredths, and lets steps run again.
fn round(number: u64, directive: &str, d: u64, reopened: &[&str]) -> Entry {
    let about = json!({
        "number": number, "directive": directive, "d_millionths": d * 10_000, "reopened": reopened,
    });
    entry(20, "round_closed", "", &about)
}

/// What is seen of a run with these events.
fn of_run(events: Vec<Entry>) -> Report {
    let mut entries = vec![entry(0, "run_started", "", &json!({}))];
    entries.extend(events);
    seen(entries)
}

fn end(place: &str, state: &str) -> Entry {
    entry(20, "step_ended", place, &json!({ "state": state }))
}

#[test]
fn a_step_that_runs_again_in_a_round_is_no_violation() {
    let rounds = |reopened: &[&str], directive: &str| {
        let mut between = round(1, directive, 50, reopened);
        if directive.is_empty() {
            between.about.remove("directive");
            between.about.remove("reopened");
        }
        let items = ["a[0]", "a", "ab"].map(|place| end(place, "failed"));
        let again = ["a[0]", "a"].map(|place| end(place, "succeeded"));
        let all = items.into_iter().chain([between]).chain(again);
        of_run(all.collect())
    };
    let report = rounds(&["a"], "refine");
    assert_eq!(report.boundary_violations, [""; 0]);
    assert_eq!(
        report.tasks_observed, 3,
        "a place is one task in all rounds"
    );
    // A round reopens what it names, and nothing else.
    let told = |found: &Report| found.boundary_violations.len();
    assert_eq!(told(&rounds(&["ab"], "refine")), 2);
    assert_eq!(told(&rounds(&[], "abandon")), 2);
    // An older record does not name what it reopens.
    assert_eq!(told(&rounds(&[], "")), 0);
}

#[test]
fn attempts_of_rounds_are_counted_as_retries_by_whose_fault_they_are() {
    let began = |place: &str, number: u64| {
        let about = json!({ "attempt": number });
        entry(10, "attempt_started", place, &about)
    };
    let ended = |place: &str, number: u64, class: Option<&str>| {
        let mut about = json!({ "attempt": number });
        if let Some(class) = class {
            about["class"] = json!(class);
        }
        entry(10, "attempt_ended", place, &about)
    };
    let refuted = |place: &str, number: u64, class: &str| {
        let verdict = json!({ "name": "fine", "ruling": "fail", "class": class });
        let about = json!({ "attempt": number, "verdict": verdict });
        entry(10, "criterion_judged", place, &about)
    };
    let mut events = Vec::new();
    for (place, class, checked) in [
        ("a", "environmental", false),
        ("b", "interrupted", false),
        ("c", "logical", false),
        ("d", "environmental", true),
        ("e", "logical", true),
    ] {
        events.push(began(place, 1));
        events.push(ended(place, 1, (!checked).then_some(class)));
        events.extend(checked.then(|| refuted(place, 1, class)));
        events.push(end(place, "failed"));
    }
    // It held, and runs again for what it depends on: nothing is corrected.
    events.extend([began("f", 1), ended("f", 1, None), end("f", "succeeded")]);
    let all = ["a", "b", "c", "d", "e", "f"];
    events.push(round(1, "change_path", 80, &all));
    events.extend(all.map(|place| began(place, 2)));
    let report = of_run(events);
    let tools = report.tool_health;
    assert_eq!(tools.execution_failures, 3);
    assert_eq!((tools.environmental_retries, tools.logical_retries), (3, 2));
    assert_eq!(report.total_corrections, 5);
    assert_eq!(report.boundary_violations, [""; 0]);
}

#[test]
fn what_was_abandoned_was_not_cancelled() {
    let runs = |outcome: &str| {
        let ended = entry(50, "run_ended", "", &json!({ "outcome": outcome }));
        of_run(vec![ended]).runs
    };
    let abandoned = runs("abandoned");
    assert_eq!((abandoned.abandoned, abandoned.cancelled), (1, 0));
    let cancelled = runs("cancelled");
    assert_eq!((cancelled.abandoned, cancelled.cancelled), (0, 1));
}

#[test]
fn break_symmetry_again_and_again_without_a_falling_d_is_thrashing() {
    let thrashing = |rounds: &[(&str, u64)]| {
        let rounds = (1..).zip(rounds);
        let rounds = rounds.map(|(number, (directive, d))| round(number, directive, *d, &["a"]));
        of_run(rounds.collect()).thrashing
    };
    let ggs = |first, times| Thrash::GgsThrashing {
        run: run(),
        first,
        times,
    };
    let breaks = "break_symmetry";
    assert_eq!(thrashing(&[(breaks, 50)]), []);
    assert_eq!(thrashing(&[(breaks, 50), (breaks, 50)]), [ggs(1, 2)]);
    assert_eq!(
        thrashing(&[(breaks, 50), (breaks, 60), (breaks, 60)]),
        [ggs(1, 3)]
    );
    // D fell, or something else was ordered in between.
    assert_eq!(thrashing(&[(breaks, 50), (breaks, 49)]), []);
    assert_eq!(
        thrashing(&[(breaks, 50), (breaks, 40), (breaks, 40)]),
        [ggs(2, 2)]
    );
    assert_eq!(thrashing(&[(breaks, 50), ("refine", 50), (breaks, 50)]), []);
    let word = serde_json::to_value(ggs(1, 2)).unwrap();
    assert_eq!(word["what"], "ggs_thrashing");
}

#[test]
fn rounds_of_two_windows_are_thrashing_too_until_the_run_ends() {
    let first = of_run(vec![round(1, "break_symmetry", 50, &["a"])]);
    let told = |more: Vec<Entry>| {
        let report = Entry::new(Moment::from_millis(60), REPORT).about(&first);
        let entries = [vec![report], more].concat();
        seen(entries).thrashing.len()
    };
    assert_eq!(first.thrashing, []);
    let second = || round(2, "break_symmetry", 50, &["a"]);
    assert_eq!(told(vec![second()]), 1);
    let over = entry(50, "run_ended", "", &json!({"outcome": "cancelled"}));
    assert_eq!(told(vec![over, second()]), 0);
    // A window in which nothing happens has nothing to tell.
    let mut window = Window::default();
    window.add(&bound(vec![Entry::new(Moment::default(), REPORT).about(&first)]).remove(0));
    assert!(!window.is_worth_telling());
}

/// What auditors say of themselves and of an event that one of them read in the database.
fn watched(kinds: &[(&str, u64, &[u64])]) -> Unseen {
    let session = |n: &u64| json!({"n": n, "process": {"pid": 1, "start": 1, "boot": "", "ns": 1}});
    let entries = kinds.iter().map(|(kind, auditor, open)| {
        let mut entry = Entry::new(Moment::default(), kind);
        if *kind == "step_ended" {
            entry = entry.about(&json!({ "by": auditor }));
            entry.source = Source::Database;
            let hash = Digest::of(b"");
            entry.db = Some(Bound { seq: 5, hash });
        } else {
            let open: Vec<Value> = open.iter().map(session).collect();
            entry = entry.about(&json!({
                "auditor": auditor, "open": open, "seq": 0, "boot": "", "seqs": [5], "messages": 1
            }));
        }
        entry
    });
    let mut unseen = Unseen::default();
    for record in bound(entries.collect()) {
        unseen.add(&record);
    }
    unseen
}

#[test]
fn an_event_that_nobody_heard_of_is_explained_or_told() {
    let begin = [
        ("opened", 1, &[1][..]),
        ("opened", 2, &[1, 2]),
        ("step_ended", 2, &[]),
    ];
    let with = |more: &[(&str, u64, &[u64])]| watched(&[&begin[..], more].concat());
    let closed: [(&str, u64, &[u64]); 2] = [("closed", 2, &[1]), ("closed", 1, &[])];
    assert_eq!(with(&[]).pending(), 1);
    assert_eq!(with(&closed).behind(None), [5]);
    assert_eq!(with(&closed[..1]).behind(Some(1)), [5]);
    let confirmed = with(&[&[("confirmed", 1, &[][..])][..], &closed[..]].concat());
    assert_eq!((confirmed.behind(None), confirmed.pending()), (vec![], 0));
    for excuse in ["found_dead", "lost"] {
        let explained = with(&[&[(excuse, 1, &[2][..])][..], &closed[..1]].concat());
        assert_eq!(
            (explained.behind(None), explained.pending()),
            (vec![], 0),
            "{excuse}"
        );
    }
}
