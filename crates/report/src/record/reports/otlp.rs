//! A run as a trace of OpenTelemetry, in the JSON form of OTLP 1: a span for the run, below it one for each task, below those
//! one for each attempt, and below those the runs nested in them.
//!
//! **Invariant:** the same run has the same trace, so one sent twice is the same trace twice. It has no output and no
//! parameter, which may be confidential.

use serde_json::{Value, json};

use crate::record::record::RunRecord;
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::machine::{RunOutcome, StepState, TaskId};
use wf_store::{AttemptRow, RunState, StepRow};

/// The place of a trace in one of a caller (W3C Trace Context).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent {
    trace: String,
    span: String,
}

impl TraceParent {
    /// Reads a header `traceparent`; `None` if it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.trim().split('-').collect();
        let is_id = |id: &str, size: usize| {
            id.len() == size
                && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
                && id.bytes().any(|byte| byte != b'0')
        };
        match parts.as_slice() {
            [_, trace, span, _, ..] if is_id(trace, 32) && is_id(span, 16) => {
                Some(Self { trace: (*trace).to_owned(), span: (*span).to_owned() })
            }
            _ => None,
        }
    }
}

/// Returns the request sending the trace of a run that ended.
pub fn otlp_trace(record: &RunRecord, parent: Option<&TraceParent>, service: &str) -> Value {
    let trace = parent.map_or_else(|| id(record.run.id.as_str(), 32), |parent| parent.trace.clone());
    let mut spans = Spans { trace, found: Vec::new() };
    spans.add_run(record, parent.map(|parent| parent.span.clone()));
    json!({"resourceSpans": [{
        "resource": {"attributes": [attribute("service.name", service)]},
        "scopeSpans": [{
            "scope": {"name": "wf", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans.found,
        }],
    }]})
}

struct Spans {
    trace: String,
    found: Vec<Value>,
}

/// A span, before it is one.
struct SpanDraft {
    id: String,
    parent: Option<String>,
    name: String,
    start: Moment,
    end: Moment,
    /// The reason for a failure.
    failure: Option<String>,
    attributes: Vec<Value>,
}

impl Spans {
    fn add(&mut self, span: SpanDraft) {
        let nanos = |at: Moment| format!("{}000000", at.millis());
        let status = match &span.failure {
            Some(reason) => json!({"code": 2, "message": reason}),
            None => json!({"code": 0}),
        };
        let mut whole = json!({
            "traceId": self.trace, "spanId": span.id, "name": span.name, "kind": 1,
            "startTimeUnixNano": nanos(span.start), "endTimeUnixNano": nanos(span.end),
            "attributes": span.attributes, "status": status,
        });
        if let (Some(parent), Some(object)) = (span.parent, whole.as_object_mut()) {
            object.insert("parentSpanId".into(), parent.into());
        }
        self.found.push(whole);
    }

    fn add_run(&mut self, record: &RunRecord, parent: Option<String>) {
        let run = &record.run;
        let (own, end) = (id(run.id.as_str(), 16), run.ended.unwrap_or(run.created));
        let is_failure = matches!(run.state, RunState::Ended(outcome) if outcome != RunOutcome::Succeeded);
        self.add(SpanDraft {
            id: own.clone(),
            parent,
            name: format!("run {}", run.plan),
            start: run.created,
            end,
            failure: is_failure.then(|| run.reason.clone()),
            attributes: vec![
                attribute("wf.run.id", run.id.as_str()),
                attribute("wf.plan.id", &run.plan),
                attribute("wf.plan.path", &run.path),
                attribute("wf.run.state", record.life.as_str()),
                attribute("wf.run.standing", run.standing.as_str()),
            ],
        });
        for step in &record.steps {
            self.add_step(record, step, &own, end);
        }
    }

    fn add_step(&mut self, record: &RunRecord, step: &StepRow, run: &str, end: Moment) {
        let Some(start) = step.started else {
            return;
        };
        let place = TaskId { step: step.step.clone(), item: step.item };
        let own = id(&format!("{}/{place}", record.run.id), 16);
        let is_failure = matches!(step.state, StepState::Failed | StepState::Cancelled);
        self.add(SpanDraft {
            id: own.clone(),
            parent: Some(run.to_owned()),
            name: place.to_string(),
            start,
            end: step.ended.unwrap_or(end),
            failure: is_failure.then(|| step.reason.clone()),
            attributes: vec![
                attribute("wf.step.state", step.state.as_str()),
                attribute("wf.step.standing", step.standing.as_str()),
            ],
        });
        let attempts = record.attempts.iter();
        for attempt in attempts.filter(|attempt| attempt.step == step.step && attempt.item == step.item) {
            self.add_attempt(record, attempt, &own, end);
        }
    }

    fn add_attempt(&mut self, record: &RunRecord, attempt: &AttemptRow, step: &str, end: Moment) {
        let place = TaskId { step: attempt.step.clone(), item: attempt.item };
        let name = format!("{place}#{}", attempt.attempt);
        let own = id(&format!("{}/{name}", record.run.id), 16);
        let failed = attempt.exit.as_ref().filter(|exit| !exit.is_success());
        self.add(SpanDraft {
            id: own.clone(),
            parent: Some(step.to_owned()),
            name: name.clone(),
            start: attempt.started,
            end: attempt.ended.unwrap_or(end),
            failure: failed.map(ToString::to_string),
            attributes: attempt
                .failure_class
                .iter()
                .map(|class| attribute("wf.failure_class", class.as_str()))
                .collect(),
        });
        for nested in record.nested.iter().filter(|nested| nested.attempt == name) {
            self.add_run(&nested.record, Some(own.clone()));
        }
    }
}

/// Returns an id made of a name: the first digits of its digest.
fn id(name: &str, digits: usize) -> String {
    let digest = Sha256Digest::of_bytes(name.as_bytes()).to_string();
    digest.get(..digits).unwrap_or(&digest).to_owned()
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

#[cfg(test)]
mod tests {
    use super::{TraceParent, otlp_trace};
    use crate::record::{record::NestedRunRecord, tests::sample::record};
    use serde_json::Value;

    fn spans(document: &Value) -> &Vec<Value> {
        document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap()
    }

    fn span<'a>(document: &'a Value, name: &str) -> &'a Value {
        spans(document)
            .iter()
            .find(|span| span["name"] == name)
            .unwrap_or_else(|| panic!("{name} of {document}"))
    }

    #[test]
    fn each_span_is_below_what_it_is_part_of() {
        let document = otlp_trace(&record(), None, "wf");
        let run = &spans(&document)[0];
        assert!(run.get("parentSpanId").is_none());
        assert_eq!(run["status"]["code"], 2, "{run}");
        let (build, attempt) = (span(&document, "build"), span(&document, "build#2"));
        assert_eq!(build["parentSpanId"], run["spanId"]);
        assert_eq!(attempt["parentSpanId"], build["spanId"]);
        assert_eq!(build["status"]["message"], "check `is_json` failed");
        assert_eq!(span(&document, "fetch")["status"]["code"], 0);
        assert!(spans(&document).iter().all(|span| span["name"] != "publish"), "it never began");
        assert!(spans(&document).iter().all(|span| span["traceId"] == run["traceId"]));
        let start = run["startTimeUnixNano"].as_str().unwrap();
        assert!(start.ends_with("000000") && start.parse::<u64>().is_ok(), "{start}");
        assert_eq!(document, otlp_trace(&record(), None, "wf"), "the same run has the same trace");
    }

    #[test]
    fn a_nested_run_is_below_its_attempt_and_the_run_below_its_caller() {
        let mut outer = record();
        let mut inner = record();
        inner.run.id = wf_base::name::RunId::from_stored("inner".to_owned());
        outer.nested.push(NestedRunRecord { attempt: "build#2".into(), record: inner });
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let document = otlp_trace(&outer, TraceParent::parse(parent).as_ref(), "wf");
        let all = spans(&document);
        assert_eq!(all[0]["traceId"], "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(all[0]["parentSpanId"], "b7ad6b7169203331");
        let nested = all.iter().skip(1).find(|span| span["name"] == all[0]["name"]).unwrap();
        assert_eq!(nested["parentSpanId"], span(&document, "build#2")["spanId"]);
        let mut ids: Vec<&str> = all.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    }

    #[test]
    fn a_caller_that_is_none_is_ignored() {
        for wrong in [
            "",
            "00",
            "00-0-0-0",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceParent::parse(wrong), None, "{wrong}");
        }
    }
}
