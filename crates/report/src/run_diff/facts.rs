use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{RunPart, difference::DURATION};
use crate::record::{ModelSpending, RunRecord};
use wf_base::digest::Sha256Digest;
use wf_core::machine::{Round, TaskId};
use wf_model::{JsonObject, Plan};
use wf_store::{CheckRow, StepRow};

/// A run to compare: all that was recorded of it.
#[derive(Clone, Copy, Debug)]
pub struct RunSubject<'a> {
    pub record: &'a RunRecord,
    /// Its plan, if it is still a valid one.
    pub plan: Option<&'a Plan>,
    /// The texts it was made of: path and content.
    pub texts: &'a [(String, String)],
}

/// A thing of a run, by its name, with its values.
pub(super) type RunFact = (String, JsonObject);

/// Returns the things of a part of a run, in the order in which it has them.
pub(super) fn facts(subject: RunSubject<'_>, part: RunPart) -> Vec<RunFact> {
    let record = subject.record;
    match part {
        RunPart::Run => vec![("run".to_owned(), end(record))],
        RunPart::Params => values(&record.run.params),
        RunPart::Plan => texts(subject.texts),
        RunPart::Steps => tasks(record),
        RunPart::Checks => record
            .own_rulings()
            .map(|row| fact(row.verdict.name.as_str(), json!({"ruling": row.verdict.ruling})))
            .collect(),
        RunPart::Rounds => record.decisions.rounds.iter().map(round).collect(),
        RunPart::Approvals => approvals(record),
        RunPart::Models => record.spending().iter().map(spending).collect(),
        RunPart::Outputs => values(&record.run.outputs),
        RunPart::Artifacts => artifacts(record),
        RunPart::Nested => nested(record),
    }
}

/// Creates a fact from an object, without the values that are absent.
fn fact(name: &str, fields: Value) -> RunFact {
    let mut fields = if let Value::Object(fields) = fields { fields } else { JsonObject::new() };
    fields.retain(|_, value| !value.is_null());
    (name.to_owned(), fields)
}

fn end(record: &RunRecord) -> JsonObject {
    let run = &record.run;
    let used = record.ledger.as_ref();
    let end = json!({
        "state": record.life,
        "standing": run.standing,
        "reason": non_empty(&run.reason),
        "accepted": run.accepted.map(|met| met.to_string()),
        DURATION: run.duration().map(millis),
        "attempts": used.map(|used| used.attempts),
        "tokens": used.map(|used| used.tokens),
        "cost_micro_usd": used.map(|used| json!(used.cost)),
    });
    fact("run", end).1
}

fn values(object: &JsonObject) -> Vec<RunFact> {
    object
        .iter()
        .map(|(name, value)| (name.clone(), [("value".to_owned(), value.clone())].into_iter().collect()))
        .collect()
}

fn texts(texts: &[(String, String)]) -> Vec<RunFact> {
    texts
        .iter()
        .map(|(path, text)| fact(path, json!({"digest": Sha256Digest::of_bytes(text.as_bytes())})))
        .collect()
}

/// The tasks, each with the rulings on its last attempt that was checked.
fn tasks(record: &RunRecord) -> Vec<RunFact> {
    let mut rulings: BTreeMap<TaskId, Vec<&CheckRow>> = BTreeMap::new();
    for row in &record.checks {
        let Some(step) = &row.step else {
            continue;
        };
        let last = rulings.entry(TaskId { step: step.clone(), item: row.item }).or_default();
        if last.first().is_some_and(|first| first.attempt < row.attempt) {
            last.clear();
        }
        if last.first().is_none_or(|first| first.attempt == row.attempt) {
            last.push(row);
        }
    }
    let task = |row: &StepRow| {
        let place = TaskId { step: row.step.clone(), item: row.item };
        let checks = rulings.get(&place).map_or(&[][..], Vec::as_slice);
        (place.display_name(row.item_key.as_deref()), task(row, checks))
    };
    record.steps.iter().map(task).collect()
}

fn task(row: &StepRow, rulings: &[&CheckRow]) -> JsonObject {
    let took = row.started.zip(row.ended).map(|(started, ended)| millis(ended.since(started)));
    let from = match (&row.cache_key, &row.reused_from) {
        (Some(_), _) => Some("cache"),
        (None, Some(_)) => Some("earlier run"),
        (None, None) => None,
    };
    let facts = json!({
        "state": row.state,
        "standing": row.standing,
        "reason": non_empty(&row.reason),
        "failure_class": row.failure_class,
        "attempts": row.attempts,
        "result_from": from,
        "stale": row.stale,
        DURATION: took,
    });
    let (_, mut fields) = fact("", facts);
    let checked =
        rulings.iter().map(|row| (format!("checks.{}", row.verdict.name), json!(row.verdict.ruling)));
    fields.extend(checked);
    fields.extend(row.outputs.iter().map(|(name, value)| (format!("outputs.{name}"), value.clone())));
    fields
}

fn round(round: &Round) -> RunFact {
    let loss = &round.solved.loss;
    let fields = json!({
        "criteria": round.checks.to_string(),
        "L": thousandths(loss.l),
        "D": thousandths(loss.d),
        "P": thousandths(loss.p),
        "Ω": thousandths(loss.omega),
        "directive": round.solved.directive,
    });
    fact(&round.round.to_string(), fields)
}

fn approvals(record: &RunRecord) -> Vec<RunFact> {
    let approved = record.decisions.approved.iter().map(|approved| {
        let by: Vec<&str> = approved.by.iter().map(|signer| signer.name.as_str()).collect();
        fact(
            "run",
            json!({"by": by.join(", "), "policy": approved.policy, "plan_digest": approved.plan_digest}),
        )
    });
    let requests = record.decisions.questions.iter().map(|approval| {
        let place = approval
            .ask
            .task_id
            .as_ref()
            .map_or_else(|| "run".to_owned(), |place| record.task_display_name(place));
        let resolution = approval.given.as_ref();
        let by = resolution.map(|resolution| {
            resolution.by.iter().map(|signer| signer.name.as_str()).collect::<Vec<_>>().join(", ")
        });
        let fields = json!({
            "message": approval.ask.message,
            "decision": resolution.map(|approval_outcome| approval_outcome.decision.as_str()),
            "answer": resolution.and_then(|outcome| outcome.answer.as_ref()).map(ToString::to_string),
            "by": by.filter(|names| !names.is_empty()),
        });
        fact(&format!("request {} of {place}", approval.ask.request), fields)
    });
    approved.chain(requests).collect()
}

fn spending(spending: &ModelSpending) -> RunFact {
    let with = spending.model.as_ref().map_or_else(String::new, |model| format!(" with {model}"));
    let name = format!("{}{with}", spending.caller.as_str());
    fact(&name, json!({"calls": spending.calls, "tokens": spending.tokens, "cost_micro_usd": spending.cost}))
}

/// The files, each as its last attempt left it.
fn artifacts(record: &RunRecord) -> Vec<RunFact> {
    let last: BTreeMap<&str, Value> = record
        .artifacts
        .iter()
        .map(|row| {
            (row.artifact.path.as_str(), json!({"digest": row.artifact.digest, "size": row.artifact.size}))
        })
        .collect();
    last.into_iter().map(|(path, fields)| fact(path, fields)).collect()
}

fn nested(record: &RunRecord) -> Vec<RunFact> {
    let nested = record.nested.iter();
    nested
        .map(|nested| {
            let run = &nested.record.run;
            fact(
                &nested.attempt,
                json!({"plan": run.plan, "state": nested.record.life, "standing": run.standing}),
            )
        })
        .collect()
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn millis(took: std::time::Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// A cost of a round, without the digits where rounding differs.
fn thousandths(cost: f64) -> f64 {
    (cost * 1000.0).round() / 1000.0
}
