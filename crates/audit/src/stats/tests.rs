use std::time::Duration;

use serde_json::{Value, json};

use super::{
    AuditReport, FailureTrend, GapTrend, PlanDrift, PlanSums, ReportTrigger, ReportWindow, ThrashPattern,
    UnconfirmedEvents,
};
use crate::records::{
    record::{AuditEntry, AuditRecord, AuditSource, BEGINNING},
    words::REPORT,
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_store::feed::LogAnchor;

fn run() -> RunId {
    RunId::from_bytes([7; 16])
}

fn entry(at: i64, kind: &str, place: &str, about: &Value) -> AuditEntry {
    let mut entry = AuditEntry::new(Moment::from_millis(at), kind).with_summary(about);
    entry.run = Some(run());
    entry.plan = PlanId::parse("plan").ok();
    entry.place = (!place.is_empty()).then(|| place.to_owned());
    entry
}

fn ruled(at: i64, attempt: u64, passes: bool) -> AuditEntry {
    let ruling = if passes { "pass" } else { "fail" };
    let about = json!({"attempt": attempt, "verdict": {"name": "fine", "ruling": ruling}});
    entry(at, "check_completed", "a", &about)
}

fn attempt(at: i64, number: u64, passes: bool) -> Vec<AuditEntry> {
    let about = json!({ "attempt": number });
    vec![
        entry(at, "attempt_started", "a", &about),
        entry(at, "attempt_ended", "a", &json!({"attempt": number, "exit": {"kind": "code", "code": 0}})),
        ruled(at, number, passes),
    ]
}

/// A run with three attempts of a step, the last of which passes.
fn story() -> Vec<AuditEntry> {
    let mut story = vec![entry(0, "run_started", "", &json!({}))];
    for number in 1..4 {
        story.extend(attempt(i64::try_from(number).unwrap() * 10, number, number == 3));
    }
    story.push(entry(40, "step_ended", "a", &json!({"state": "succeeded"})));
    story.push(entry(50, "run_ended", "", &json!({"outcome": "succeeded"})));
    story
}

fn bound(entries: Vec<AuditEntry>) -> Vec<AuditRecord> {
    let mut prev = BEGINNING.into();
    let records = entries.into_iter().zip(1..).map(|(entry, n)| {
        let record = entry.bind(n, prev);
        prev = record.hash;
        record
    });
    records.collect()
}

fn seen(entries: Vec<AuditEntry>) -> AuditReport {
    let mut window = ReportWindow::default();
    for record in bound(entries) {
        window.add(&record);
    }
    window.report(ReportTrigger::OnDemand, None)
}

#[test]
fn a_run_is_summed_up() {
    let report = seen(story());
    assert_eq!((report.runs.started, report.runs.succeeded), (1, 1));
    assert_eq!((report.tasks_observed, report.total_corrections), (1, 2));
    let trend = GapTrend {
        run: run(),
        place: "a".into(),
        trend: FailureTrend::Improving,
        gaps: vec![(1, 1), (1, 1), (0, 1)],
    };
    assert_eq!(report.gap_trends, [trend]);
    assert_eq!(report.thrashing, []);
    assert_eq!(report.boundary_violations, [""; 0]);
    let sums = PlanSums { runs: 1, millis: 50, judged: 3, passed: 1 };
    assert_eq!(report.history["plan"], sums);
}

#[test]
fn equal_failures_in_a_row_are_thrashing() {
    let mut entries = vec![entry(0, "run_started", "", &json!({}))];
    entries.extend((1..4).flat_map(|number| attempt(10, number, false)));
    let expected = ThrashPattern::Attempts { run: run(), place: "a".into(), times: 3 };
    assert_eq!(seen(entries).thrashing, [expected]);
}

#[test]
fn what_no_role_may_cause_is_told() {
    let short = run().short().to_owned();
    let ended = |number: u64| entry(60, "attempt_ended", "a", &json!({ "attempt": number }));
    for (at, more, said) in [
        (5, ended(9), "a ended attempt 9, which was not running"),
        (11, story().remove(10), "a ended twice"),
        (12, ended(3), "attempt_ended after its end"),
        (1, story().remove(0), "started twice"),
    ] {
        let mut entries = story();
        entries.insert(at, more);
        let found = seen(entries).boundary_violations;
        let one = found.iter().any(|found| found.contains(said) && found.contains(&short));
        assert!(one, "{said}: {found:?}");
    }
    // If the start of a run was not seen, less can be said.
    let half = story().split_off(5);
    assert_eq!(seen(half).boundary_violations, [""; 0]);
}

#[test]
fn a_window_goes_on_behind_the_last_report_as_if_there_had_been_no_restart() {
    let mut entries = story();
    let report = seen(story());
    entries.push(AuditEntry::new(Moment::from_millis(60), REPORT).with_summary(&report));
    entries.extend(story());
    let records = bound(entries);
    let (mut all, mut rest) = (ReportWindow::default(), ReportWindow::default());
    for record in &records {
        all.add(record);
    }
    for record in records.iter().skip(12) {
        rest.add(record);
    }
    let told = all.report(ReportTrigger::End, None);
    assert_eq!(told, rest.report(ReportTrigger::End, None));
    assert_eq!((told.from, told.runs.started), (14, 1));
    assert_eq!(told.history["plan"].runs, 2);
    assert!(!all.is_over(Duration::from_secs(1)) && all.is_over(Duration::from_millis(50)));
    // A report on demand covers both windows.
    let mut whole = ReportWindow::spanning_reports();
    for record in &records {
        whole.add(record);
    }
    let told = whole.report(ReportTrigger::OnDemand, None);
    assert_eq!((told.runs.started, told.history["plan"].runs), (2, 2));
}

#[test]
fn a_plan_that_does_worse_than_in_earlier_windows_drifts() {
    let mut entries = Vec::new();
    let before = PlanSums { runs: 3, millis: 150, judged: 10, passed: 10 };
    let past = AuditReport { history: [("plan".to_owned(), before)].into(), ..AuditReport::default() };
    entries.push(AuditEntry::new(Moment::default(), REPORT).with_summary(&past));
    entries.extend(story());
    let expected = PlanDrift::PassRate { plan: "plan".into(), before: 100, now: 33 };
    assert_eq!(seen(entries).drift, [expected]);
}

/// The end of a round with this directive, with D in hundredths, which reopens steps.
fn round(number: u64, directive: &str, d: u64, reopened: &[&str]) -> AuditEntry {
    let about = json!({
        "round": number, "directive": directive, "d_millionths": d * 10_000, "reopened": reopened,
    });
    entry(20, "round_completed", "", &about)
}

/// Returns the report about a run with these events.
fn of_run(events: Vec<AuditEntry>) -> AuditReport {
    let mut entries = vec![entry(0, "run_started", "", &json!({}))];
    entries.extend(events);
    seen(entries)
}

fn end(place: &str, state: &str) -> AuditEntry {
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
    assert_eq!(report.tasks_observed, 3, "a place is one task in all rounds");
    // A round reopens the steps it names, and nothing else.
    let told = |found: &AuditReport| found.boundary_violations.len();
    assert_eq!(told(&rounds(&["ab"], "refine")), 2);
    assert_eq!(told(&rounds(&[], "abandon")), 2);
    // An older record does not name the steps it reopens.
    assert_eq!(told(&rounds(&[], "")), 0);
}

#[test]
fn attempts_of_rounds_are_counted_as_retries_by_whose_fault_they_are() {
    let began = |place: &str, number: u64| {
        let about = json!({ "attempt": number });
        entry(10, "attempt_started", place, &about)
    };
    let ended = |place: &str, number: u64, failure_class: Option<&str>| {
        let mut about = json!({ "attempt": number });
        if let Some(failure_class) = failure_class {
            about["failure_class"] = json!(failure_class);
        }
        entry(10, "attempt_ended", place, &about)
    };
    let refuted = |place: &str, number: u64, failure_class: &str| {
        let verdict = json!({ "name": "fine", "ruling": "fail", "failure_class": failure_class });
        let about = json!({ "attempt": number, "verdict": verdict });
        entry(10, "check_completed", place, &about)
    };
    let mut events = Vec::new();
    for (place, failure_class, checked) in [
        ("a", "environmental", false),
        ("b", "interrupted", false),
        ("c", "logical", false),
        ("d", "environmental", true),
        ("e", "logical", true),
    ] {
        events.push(began(place, 1));
        events.push(ended(place, 1, (!checked).then_some(failure_class)));
        events.extend(checked.then(|| refuted(place, 1, failure_class)));
        events.push(end(place, "failed"));
    }
    // It passed, and runs again because of its dependencies: nothing is corrected.
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
    let ggs = |first, times| ThrashPattern::GgsThrashing { run: run(), first, times };
    let breaks = "break_symmetry";
    assert_eq!(thrashing(&[(breaks, 50)]), []);
    assert_eq!(thrashing(&[(breaks, 50), (breaks, 50)]), [ggs(1, 2)]);
    assert_eq!(thrashing(&[(breaks, 50), (breaks, 60), (breaks, 60)]), [ggs(1, 3)]);
    // D fell, or another directive came in between.
    assert_eq!(thrashing(&[(breaks, 50), (breaks, 49)]), []);
    assert_eq!(thrashing(&[(breaks, 50), (breaks, 40), (breaks, 40)]), [ggs(2, 2)]);
    assert_eq!(thrashing(&[(breaks, 50), ("refine", 50), (breaks, 50)]), []);
    let word = serde_json::to_value(ggs(1, 2)).unwrap();
    assert_eq!(word["what"], "ggs_thrashing");
}

#[test]
fn rounds_of_two_windows_are_thrashing_too_until_the_run_ends() {
    let first = of_run(vec![round(1, "break_symmetry", 50, &["a"])]);
    let told = |more: Vec<AuditEntry>| {
        let report = AuditEntry::new(Moment::from_millis(60), REPORT).with_summary(&first);
        let entries = [vec![report], more].concat();
        seen(entries).thrashing.len()
    };
    assert_eq!(first.thrashing, []);
    let second = || round(2, "break_symmetry", 50, &["a"]);
    assert_eq!(told(vec![second()]), 1);
    let over = entry(50, "run_ended", "", &json!({"outcome": "cancelled"}));
    assert_eq!(told(vec![over, second()]), 0);
    // A window without events has nothing to report.
    let mut window = ReportWindow::default();
    window.add(&bound(vec![AuditEntry::new(Moment::default(), REPORT).with_summary(&first)]).remove(0));
    assert!(!window.is_reportable());
}

/// The records of auditors about themselves and about an event that one read in the database.
fn watched(kinds: &[(&str, u64, &[u64])]) -> UnconfirmedEvents {
    let session = |n: &u64| json!({"n": n, "process": {"pid": 1, "start": 1, "boot": "", "ns": 1}});
    let entries = kinds.iter().map(|(kind, auditor, open)| {
        let mut entry = AuditEntry::new(Moment::default(), kind);
        if *kind == "step_ended" {
            entry = entry.with_summary(&json!({ "by": auditor }));
            entry.source = AuditSource::Database;
            let hash = Sha256Digest::of_bytes(b"");
            entry.db = Some(LogAnchor { seq: 5, hash });
        } else {
            let open: Vec<Value> = open.iter().map(session).collect();
            entry = entry.with_summary(&json!({
                "auditor": auditor, "open": open, "seq": 0, "boot": "", "seqs": [5], "messages": 1
            }));
        }
        entry
    });
    let mut unseen = UnconfirmedEvents::default();
    for record in bound(entries.collect()) {
        unseen.add(&record);
    }
    unseen
}

#[test]
fn an_event_that_nobody_heard_of_is_explained_or_told() {
    let begin = [("opened", 1, &[1][..]), ("opened", 2, &[1, 2]), ("step_ended", 2, &[])];
    let with = |more: &[(&str, u64, &[u64])]| watched(&[&begin[..], more].concat());
    let closed: [(&str, u64, &[u64]); 2] = [("closed", 2, &[1]), ("closed", 1, &[])];
    assert_eq!(with(&[]).pending_count(), 1);
    assert_eq!(with(&closed).unexplained_events(None), [5]);
    assert_eq!(with(&closed[..1]).unexplained_events(Some(1)), [5]);
    let confirmed = with(&[&[("confirmed", 1, &[][..])][..], &closed[..]].concat());
    assert_eq!((confirmed.unexplained_events(None), confirmed.pending_count()), (vec![], 0));
    for excuse in ["found_dead", "lost"] {
        let explained = with(&[&[(excuse, 1, &[2][..])][..], &closed[..1]].concat());
        assert_eq!((explained.unexplained_events(None), explained.pending_count()), (vec![], 0), "{excuse}");
    }
}
