use serde_json::{Map, Value};

use super::record::{Entry, Source};
use crate::bus::{Bound, Message, What};
use crate::machine::{Event, Fact};
use crate::store::{LogRow, StateFact};

/// The keys of an event that are kept: words and numbers that a plan or the rules give. Nothing
/// that a step printed, gave or was given is among them.
const KEPT: [&str; 38] = [
    "action",
    "attempt",
    "by",
    "cached",
    "class",
    "criteria",
    "d_millionths",
    "decision",
    "directive",
    "execution",
    "executions",
    "exit",
    "force",
    "from",
    "gate",
    "gates",
    "initiator",
    "key",
    "lock",
    "logic",
    "mode",
    "name",
    "number",
    "outcome",
    "phase",
    "point",
    "policy",
    "reopened",
    "required",
    "result",
    "standing",
    "state",
    "tally",
    "token",
    "tokens",
    "tolerated",
    "trigger",
    "verdict",
];

/// What is kept of something nested.
const INSIDE: [&str; 14] = [
    "action", "class", "code", "gate", "how", "ignored", "key", "lane", "millis", "mode", "name",
    "ruling", "signal", "trigger",
];

/// Lists of names that are kept of something nested: what a gate rewrote, and what it may not (Silas
/// 5.4).
const KEYS: [&str; 2] = ["changed", "rejected"];

/// How many names of such a list are kept.
const MOST_KEYS: usize = 20;

/// How much of such a name is kept, in characters.
const MOST_OF_A_KEY: usize = 64;

/// The entry of a message.
pub(super) fn of_message(message: &Message) -> Entry {
    let mut entry = match &message.what {
        What::Recorded { .. } => Entry::new(message.at, "run_recorded"),
        What::Event { fact, .. } => of_fact(message.at, fact),
        What::Act(act) => {
            let mut entry = Entry::new(message.at, "act").about(act);
            if let Some(Value::String(word)) = entry.about.remove("act") {
                entry.kind = word;
            }
            // It stands in a key of its own.
            entry.about.remove("db");
            entry
        }
    };
    entry.run.clone_from(&message.run);
    entry.plan.clone_from(&message.plan);
    entry.path.clone_from(&message.path);
    entry.db = message.bound();
    entry
}

/// The entry of a row that nobody heard of on the bus; `last` is when the one before happened.
pub(super) fn of_row(row: &LogRow, last: crate::time::Moment, path: Vec<String>) -> Entry {
    let mut entry = match &row.event {
        Some(Event { at, fact }) => of_fact(*at, fact),
        None if row.state.is_some() => of_state(row, last),
        None if row.n == 0 => Entry::new(last, "run_recorded"),
        None => Entry::new(last, "forgotten"),
    };
    entry.run.clone_from(&row.run);
    entry.plan.clone_from(&row.plan);
    entry.path = path;
    entry.db = Some(Bound {
        seq: row.place.seq,
        hash: row.place.hash,
    });
    entry.source = Source::Database;
    entry
}

/// The entry of an event that belongs to no run, as whoever did it would have told.
fn of_state(row: &LogRow, last: crate::time::Moment) -> Entry {
    let at = row.state.as_ref().map_or(last, |event| event.at);
    match row.state.as_ref().map(|event| &event.fact) {
        Some(StateFact::RunsPruned { runs, .. }) => {
            Entry::new(at, "pruned").about(&serde_json::json!({ "runs": runs.len() }))
        }
        Some(StateFact::UsesCarried { uses, .. }) => {
            Entry::new(at, "uses_carried").about(&serde_json::json!({ "uses": uses.len() }))
        }
        Some(StateFact::ApprovalWithdrawn(one)) => Entry::new(at, "approval_withdrawn")
            .about(&serde_json::json!({ "goal": one.goal, "nonce": one.nonce })),
        None => Entry::new(at, "forgotten"),
    }
}

fn of_fact(at: crate::time::Moment, fact: &Fact) -> Entry {
    let mut fields = match serde_json::to_value(fact) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let kind = match fields.remove("event") {
        Some(Value::String(kind)) => kind,
        _ => "unknown".into(),
    };
    let mut entry = Entry::new(at, &kind);
    let step = fields.remove("step");
    let attempt = fields.remove("attempt");
    let nested = attempt.as_ref().and_then(Value::as_object);
    let of = fields.remove("place").or_else(|| attempt.clone());
    let of = of.as_ref().and_then(Value::as_object);
    entry.place = place(step.as_ref(), fields.get("item"))
        .or_else(|| of.and_then(|of| place(of.get("step"), of.get("item"))));
    fields.remove("item");
    let number = match nested {
        Some(of) => of.get("attempt").cloned(),
        None => attempt.clone(),
    };
    fields.extend(number.map(|number| ("attempt".to_owned(), number)));
    if let Fact::RoundClosed(round) = fact {
        let d = millionths(round.solved.loss.d);
        fields.insert("d_millionths".to_owned(), Value::from(d));
    }
    entry.about = fields
        .into_iter()
        .filter(|(key, _)| KEPT.contains(&key.as_str()))
        .filter_map(|(key, value)| Some((key, small(value)?)))
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

/// A distance as a whole number, so that whoever writes the record anew, with jq say, writes the same.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "D is from 0 to 1"
)]
fn millionths(d: f64) -> u64 {
    (d.clamp(0.0, 1.0) * 1e6).round() as u64
}

/// The names in a list, each cut short: a gate may make them up.
fn keys(value: Value) -> Option<Value> {
    let Value::Array(names) = value else {
        return None;
    };
    let names = names.iter().filter_map(Value::as_str).take(MOST_KEYS);
    let short = names.map(|name| name.chars().take(MOST_OF_A_KEY).collect::<String>());
    Some(short.collect())
}

/// What is kept of a value: a word, a whole number, or the words in something nested.
fn small(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(key, value)| {
                if KEYS.contains(&key.as_str()) {
                    return Some((key, keys(value)?));
                }
                let plain = value.is_string() || value.is_i64() || value.is_u64();
                let known = INSIDE.contains(&key.as_str()) || value.is_u64();
                (plain && known).then_some((key, value))
            });
            Some(Value::Object(kept.collect()))
        }
        Value::Number(number) if number.is_f64() => None,
        Value::Array(items) => Some(items.into_iter().filter_map(small).collect()),
        Value::Null => None,
        other => Some(other),
    }
}
