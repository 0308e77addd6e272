use serde_json::{Value, json};

use super::{Exposition, MetricsFormat, WorkspaceMetrics};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
};
use wf_core::machine::Event;
use wf_store::{LogPosition, LogRow};

fn row(seq: u64, at: &str, fact: &Value) -> LogRow {
    let mut whole = json!({"at": at});
    whole.as_object_mut().unwrap().append(&mut fact.as_object().unwrap().clone());
    let event: Event = serde_json::from_value(whole).unwrap();
    LogRow {
        position: LogPosition { seq, hash: Sha256Digest::of_bytes(b"") },
        n: seq,
        event: Some(event),
        state: None,
        run: Some(RunId::from_stored("r".to_owned())),
        plan: Some(PlanId::parse("sort").unwrap()),
        parent: None,
    }
}

fn request(number: u32, risk: &str) -> Value {
    json!({
        "event": "approval_requested", "request": number, "since": "2026-01-02T03:04:05Z",
        "expires": "2026-01-02T04:04:05Z", "message": "Sort?", "step": "agree",
        "risk": {"level": risk, "rule": "writes"},
    })
}

fn resolution(number: u32, decision: &str) -> Value {
    json!({"event": "approval_resolved", "request": number, "step": "agree", "decision": decision})
}

fn exposed(metrics: &WorkspaceMetrics) -> String {
    let mut text = Exposition::new(MetricsFormat::OpenMetrics);
    metrics.write(&mut text);
    text.end()
}

#[test]
fn decisions_are_counted_with_their_times_and_open_requests_are_known() {
    let mut metrics = WorkspaceMetrics::default();
    for (seq, (at, fact)) in (1..).zip([
        ("2026-01-02T03:04:05Z", request(1, "medium")),
        ("2026-01-02T03:04:05Z", request(2, "high")),
        ("2026-01-02T03:04:05Z", request(3, "high")),
        ("2026-01-02T03:04:09.500Z", resolution(1, "approved")),
        ("2026-01-02T04:04:05Z", resolution(2, "expired")),
    ]) {
        metrics.add(&row(seq, at, &fact));
    }
    assert_eq!(metrics.last(), 5);
    let text = exposed(&metrics);
    for line in [
        "wf_requests_open{risk=\"high\"} 1\n",
        "wf_decisions_total{decision=\"approved\",risk=\"medium\"} 1\n",
        "wf_decisions_total{decision=\"expired\",risk=\"high\"} 1\n",
        "wf_decision_seconds_bucket{risk=\"medium\",le=\"1.0\"} 0\n",
        "wf_decision_seconds_bucket{risk=\"medium\",le=\"5.0\"} 1\n",
        "wf_decision_seconds_bucket{risk=\"medium\",le=\"+Inf\"} 1\n",
        "wf_decision_seconds_sum{risk=\"medium\"} 4.500\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(!text.contains("wf_decision_seconds_count{risk=\"high\"}"), "nobody decided: {text}");
}

#[test]
fn every_family_is_declared_once_and_its_samples_follow_it() {
    let mut metrics = WorkspaceMetrics::default();
    metrics.add(&row(
        1,
        "2026-01-02T03:04:05Z",
        &json!({"event": "run_started", "logic_version": 1, "plan": "sort", "params": {}}),
    ));
    let text = exposed(&metrics);
    assert!(text.contains("wf_runs_started_total{plan=\"sort\"} 1\n") && text.ends_with("# EOF\n"), "{text}");
    let mut family = "";
    let mut declared = std::collections::BTreeSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap();
            assert!(declared.insert(family) && rest.ends_with('.'), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert!(rest.starts_with(family), "{line}");
        } else {
            assert!(line.starts_with(family), "{line} is not of {family}");
        }
    }
    let document = include_str!("../../../../docs/web.md");
    for family in declared {
        assert!(document.contains(&format!("`{family}")), "{family} is not in docs/web.md");
    }
}

#[test]
fn the_older_format_differs_in_the_names_of_counters_and_has_no_end() {
    let mut text = Exposition::new(MetricsFormat::accepted([]));
    text.counter("wf_x", "A count.");
    text.sample("wf_x_total", &[], 1);
    assert_eq!(text.end(), "# HELP wf_x_total A count.\n# TYPE wf_x_total counter\nwf_x_total 1\n");
    let accepted = MetricsFormat::accepted(["text/plain;q=0.1, application/openmetrics-text;version=1.0.0"]);
    assert_eq!(accepted, MetricsFormat::OpenMetrics);
}

#[test]
fn a_label_cannot_end_its_line() {
    let mut text = Exposition::new(MetricsFormat::OpenMetrics);
    text.sample("wf_x", &[("plan", "a\"b\\c\nd")], 1);
    assert_eq!(text.end(), "wf_x{plan=\"a\\\"b\\\\c\\nd\"} 1\n# EOF\n");
}
