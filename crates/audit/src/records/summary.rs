use serde_json::{Map, Value};

use crate::records::{
    record::{AuditEntry, AuditSource},
    words::{
        ARTIFACTS_PRUNED, CONNECTION_APPROVED, RESULT_CACHED, ROWS_ERASED, ROWS_RECORDED, STATE_MIGRATED,
    },
};
use wf_core::machine::{Event, EventKind};
use wf_store::{
    LogRow, StateFact, StoreError, StoreReader,
    feed::{BusMessage, BusMessageKind, LogAnchor},
};

/// The keys of an event kept: words and numbers a plan or the rules define. None of a step's inputs, outputs
/// or printed text is among them.
const KEPT: [&str; 38] = [
    "action",
    "allowed_to_fail",
    "attempt",
    "by",
    "cache_key",
    "checks",
    "counts",
    "d_millionths",
    "decision",
    "directive",
    "execution",
    "executions",
    "exit",
    "failure_class",
    "force",
    "gate",
    "gates",
    "initiator",
    "item_key",
    "lock",
    "logic_version",
    "name",
    "outcome",
    "phase",
    "point",
    "policy",
    "reopened",
    "request",
    "required",
    "result",
    "reused_from",
    "round",
    "standing",
    "state",
    "token",
    "tokens",
    "trigger",
    "verdict",
];

/// The keys kept of a nested object.
const INSIDE: [&str; 14] = [
    "action",
    "certainty",
    "code",
    "duration_ms",
    "failure_class",
    "gate",
    "ignored",
    "key_id",
    "kind",
    "lane",
    "name",
    "ruling",
    "signal",
    "trigger",
];

/// Lists of names kept of a nested object: the keys a gate rewrote, and those it may not (Silas 5.4).
const KEYS: [&str; 2] = ["changed", "rejected"];

/// The maximum number of names kept of such a list.
const MOST_KEYS: usize = 20;

/// The maximum length of such a name, in characters.
const MOST_OF_A_KEY: usize = 64;

pub(crate) fn of_message(message: &BusMessage) -> AuditEntry {
    let mut entry = match &message.kind {
        BusMessageKind::Recorded { .. } => AuditEntry::new(message.at, "run_recorded"),
        BusMessageKind::Event { fact, .. } => of_fact(message.at, fact),
        BusMessageKind::Act(act) => {
            let mut entry = AuditEntry::new(message.at, "act").with_summary(act);
            if let Some(Value::String(word)) = entry.about.remove("act") {
                entry.kind = word;
            }
            // It has a key of its own.
            entry.about.remove("db");
            let login = message.login.as_ref().and_then(|login| serde_json::to_value(login).ok());
            entry.about.extend(login.map(|login| ("login".to_owned(), login)));
            entry
        }
    };
    entry.run.clone_from(&message.run);
    entry.plan.clone_from(&message.plan);
    entry.path.clone_from(&message.path);
    entry.db = message.anchor();
    entry
}

/// Makes the entry of a row no auditor heard of on the bus; `last` is the time of the row before.
pub(crate) fn of_row(row: &LogRow, last: wf_base::time::Moment, path: Vec<String>) -> AuditEntry {
    let mut entry = match &row.event {
        Some(Event { at, fact }) => of_fact(*at, fact),
        None if row.state.is_some() => of_state(row, last),
        None if row.n == 0 => AuditEntry::new(last, "run_recorded"),
        None => AuditEntry::new(last, "forgotten"),
    };
    entry.run.clone_from(&row.run);
    entry.plan.clone_from(&row.plan);
    entry.path = path;
    entry.db = Some(LogAnchor { seq: row.position.seq, hash: row.position.hash });
    entry.source = AuditSource::Database;
    entry
}

/// Makes the entry of an event belonging to no run, as its author would have published it.
fn of_state(row: &LogRow, last: wf_base::time::Moment) -> AuditEntry {
    let at = row.state.as_ref().map_or(last, |event| event.at);
    match row.state.as_ref().map(|event| &event.fact) {
        Some(StateFact::RunsPruned { runs, .. }) => {
            AuditEntry::new(at, "pruned").with_summary(&serde_json::json!({ "runs": runs.len() }))
        }
        Some(StateFact::ArtifactsPruned { runs }) => {
            AuditEntry::new(at, ARTIFACTS_PRUNED).with_summary(&serde_json::json!({ "runs": runs.len() }))
        }
        Some(StateFact::UsesCarried { uses, .. }) => {
            AuditEntry::new(at, "uses_carried").with_summary(&serde_json::json!({ "uses": uses.len() }))
        }
        Some(StateFact::ApprovalWithdrawn(one)) => AuditEntry::new(at, "approval_withdrawn")
            .with_summary(&serde_json::json!({ "goal": one.goal, "nonce": one.nonce })),
        Some(StateFact::ConnectionApproved(one)) => AuditEntry::new(at, CONNECTION_APPROVED)
            .with_summary(&serde_json::json!({ "used_by": one.run, "nonce": one.nonce })),
        Some(StateFact::ResultCached { cache_key, .. }) => {
            AuditEntry::new(at, RESULT_CACHED).with_summary(&serde_json::json!({ "cache_key": cache_key }))
        }
        Some(StateFact::RowsErased { events }) => {
            AuditEntry::new(at, ROWS_ERASED).with_summary(&serde_json::json!({ "events": events.len() }))
        }
        Some(StateFact::StateMigrated { from, to, wf }) => AuditEntry::new(at, STATE_MIGRATED)
            .with_summary(&serde_json::json!({ "from": from, "to": to, "wf": wf })),
        Some(StateFact::RowsRecorded { tables, .. }) => {
            let rows = tables.values().map(|table| table.rows.len() + table.removed.len());
            AuditEntry::new(at, ROWS_RECORDED)
                .with_summary(&serde_json::json!({ "rows": rows.sum::<usize>() }))
        }
        None => AuditEntry::new(at, "forgotten"),
    }
}

fn of_fact(at: wf_base::time::Moment, event_kind: &EventKind) -> AuditEntry {
    let mut fields = match serde_json::to_value(event_kind) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let kind = match fields.remove("event") {
        Some(Value::String(kind)) => kind,
        _ => "unknown".into(),
    };
    let mut entry = AuditEntry::new(at, &kind);
    let (step, item) = (fields.remove("step"), fields.remove("item"));
    entry.place = place(step.as_ref(), item.as_ref());
    if let EventKind::RoundCompleted(round) = event_kind {
        let d = millionths(round.solved.loss.d);
        fields.insert("d_millionths".to_owned(), Value::from(d));
    }
    entry.about = fields
        .into_iter()
        .filter(|(key, _)| KEPT.contains(&key.as_str()))
        .filter_map(|(key, value)| Some((key, summary_value(value)?)))
        .collect();
    entry
}

fn place(step: Option<&Value>, item: Option<&Value>) -> Option<String> {
    let step = step?.as_str()?;
    Some(match item.and_then(Value::as_u64) {
        Some(item) => format!("{step}[{item}]"),
        None => step.to_owned(),
    })
}

/// Converts a distance to a whole number, so other tools, like jq, write it the same way.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "D ranges from 0 to 1")]
fn millionths(d: f64) -> u64 {
    (d.clamp(0.0, 1.0) * 1e6).round() as u64
}

/// Returns the names in a list, each cut short: a gate may make them up.
fn list_names(value: Value) -> Option<Value> {
    let Value::Array(names) = value else {
        return None;
    };
    let names = names.iter().filter_map(Value::as_str).take(MOST_KEYS);
    let short = names.map(|name| name.chars().take(MOST_OF_A_KEY).collect::<String>());
    Some(short.collect())
}

/// Returns the kept part of a value: a word, a whole number, or the words in a nested object.
fn summary_value(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(key, value)| {
                if KEYS.contains(&key.as_str()) {
                    return Some((key, list_names(value)?));
                }
                let plain = value.is_string() || value.is_i64() || value.is_u64();
                let known = INSIDE.contains(&key.as_str()) || value.is_u64();
                (plain && known).then_some((key, value))
            });
            Some(Value::Object(kept.collect()))
        }
        Value::Number(number) if number.is_f64() => None,
        Value::Array(items) => Some(items.into_iter().filter_map(summary_value).collect()),
        Value::Null => None,
        other => Some(other),
    }
}

/// The number of rows read at once.
pub(crate) const ROWS: usize = 1000;

/// True if no bus has any of the events after one: the next auditor reads them.
pub(crate) fn only_unpublished(reader: &StoreReader, after: u64) -> Result<bool, StoreError> {
    let mut after = after;
    loop {
        let rows = reader.log().rows(after, ROWS)?;
        let is_unpublished = |row: &LogRow| {
            let fact = row.state.as_ref().map(|event| &event.fact);
            matches!(
                fact,
                Some(
                    StateFact::RowsRecorded { .. }
                        | StateFact::RowsErased { .. }
                        | StateFact::StateMigrated { .. }
                        | StateFact::ArtifactsPruned { .. }
                        | StateFact::ConnectionApproved(_)
                        | StateFact::ResultCached { .. }
                )
            )
        };
        match rows.last() {
            None => return Ok(true),
            Some(last) => after = last.position.seq,
        }
        if !rows.iter().all(is_unpublished) {
            return Ok(false);
        }
    }
}
