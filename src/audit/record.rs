use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bus::Bound;
use crate::digest::Digest;
use crate::name::{PlanId, RunId};
use crate::seal::{canonical, canonical_without};
use crate::time::Moment;

/// The version of the form of the audit log. Within a version, keys and kinds are only added.
pub const VERSION: u32 = 1;

/// What comes before the first record.
pub const BEGINNING: [u8; 32] = [0; 32];

/// A record of the audit log: one line of canonical JSON, bound to the line before by its hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Record {
    /// The version of its form.
    pub v: u32,
    /// Its number, from one.
    pub n: u64,
    /// The hash of the record before; 64 zeros in the first one.
    pub prev: Digest,
    /// SHA-256 of this record without this key, as canonical JSON.
    pub hash: Digest,
    /// What it says.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What a record says, before it has its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// When it happened.
    pub at: Moment,
    /// What happened, in one word: that of an event, of an act, or of the auditor itself.
    pub kind: String,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanId>,
    /// The places above the run, outermost first, where it is nested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The step, or the item of a step: `build`, `fetch[2]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Where the event stands in the database's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db: Option<Bound>,
    /// How the auditor came to know of it.
    #[serde(default, skip_serializing_if = "is_bus")]
    pub source: Source,
    /// A small summary: never outputs, parameters or what anybody printed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
}

/// How the auditor came to know of an event.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It heard of it on the bus when it became durable.
    #[default]
    Bus,
    /// It read it in the database afterwards.
    Database,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It is no record.
    #[error("is no record")]
    NoRecord,
    /// A later version made it.
    #[error("was made by a later wf")]
    Later,
    /// It says something else than when it was written.
    #[error("was changed")]
    Changed,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_bus(source: &Source) -> bool {
    *source == Source::Bus
}

impl Entry {
    /// An entry that is about no run.
    pub fn new(at: Moment, kind: &str) -> Self {
        Self {
            at,
            kind: kind.into(),
            run: None,
            plan: None,
            path: Vec::new(),
            place: None,
            db: None,
            source: Source::Bus,
            about: Map::new(),
        }
    }

    /// Adds what it is about.
    #[must_use]
    pub fn about(mut self, about: &impl Serialize) -> Self {
        if let Ok(Value::Object(about)) = serde_json::to_value(about) {
            self.about = about;
        }
        self
    }

    /// What it is about, as a type that says so.
    pub fn read<T: for<'a> Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_value(Value::Object(self.about.clone())).ok()
    }

    /// A word of the summary.
    pub fn word(&self, key: &str) -> Option<&str> {
        self.about.get(key)?.as_str()
    }

    /// A number of the summary.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.about.get(key)?.as_u64()
    }

    /// Gives it its place behind another record.
    pub fn bind(self, n: u64, prev: Digest) -> Record {
        self.bind_line(n, prev).0
    }

    /// Gives it its place behind another record; gives its line, too.
    pub(super) fn bind_line(mut self, n: u64, prev: Digest) -> (Record, String) {
        self.about.values_mut().for_each(plain);
        let mut record = Record {
            v: VERSION,
            n,
            prev,
            hash: BEGINNING.into(),
            entry: self,
        };
        let mut fields = match serde_json::to_value(&record) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        fields.remove("hash");
        let (mut line, at) = canonical_without(&fields, "hash");
        record.hash = Digest::of(line.as_bytes());
        // Others come before it, and others after it.
        line.insert_str(at, &format!(",\"hash\":\"{}\"", record.hash));
        (record, line)
    }
}

impl Record {
    /// Its line, without the end of the line.
    pub fn line(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Reads a line. What it says is what was written; whether it follows the line before is for
    /// others to say.
    pub fn parse(line: &str) -> Result<Self, LineFault> {
        let value: Value = serde_json::from_str(line).map_err(|_| LineFault::NoRecord)?;
        let later = |v: &Value| v.as_u64().is_some_and(|v| v > u64::from(VERSION));
        if value.get("v").is_some_and(later) {
            return Err(LineFault::Later);
        }
        let record = Self::deserialize(&value).map_err(|_| LineFault::NoRecord)?;
        // There is one way to write a record, so that no change of a byte goes unseen.
        if canonical(&value) != line || own_hash(value) != record.hash {
            return Err(LineFault::Changed);
        }
        Ok(record)
    }

    /// What a line says, whether or not it is what was written; `None` if it is no record.
    pub(super) fn believe(line: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(line).ok()?;
        (record.v <= VERSION).then_some(record)
    }
}

fn own_hash(mut value: Value) -> Digest {
    if let Value::Object(fields) = &mut value {
        fields.remove("hash");
    }
    Digest::of(canonical(&value).as_bytes())
}

/// Takes out of a text what tools write in different ways.
fn plain(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            *text = text.chars().filter(|c| !c.is_control()).collect();
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(fields) => fields.values_mut().for_each(plain),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{BEGINNING, Entry, LineFault, Record};
    use crate::digest::Digest;
    use crate::time::Moment;
    use serde_json::json;

    #[test]
    fn a_line_says_what_was_written() {
        let entry =
            Entry::new(Moment::default(), "pruned").about(&json!({"runs": 2, "t": "a\u{7f}\n"}));
        let record = entry.bind(1, BEGINNING.into());
        let line = record.line();
        assert_eq!(Record::parse(&line).unwrap(), record);
        assert_eq!(record.entry.word("t"), Some("a"));
        // As with `jq -cS 'del(.hash)' | sha256sum`, without the end of the line.
        let without = line.replace(&format!("\"hash\":\"{}\",", record.hash), "");
        assert_eq!(Digest::of(without.as_bytes()), record.hash);
        let later = line.replace("\"v\":1", "\"v\":2");
        assert_eq!(Record::parse(&later), Err(LineFault::Later));
        assert_eq!(Record::parse("{}"), Err(LineFault::NoRecord));
        for changed in [
            line.replace("pruned", "prunes"),
            line.clone() + " ",
            line.replace("\"n\":1", "\"n\":1,\"n\":1"),
        ] {
            assert_eq!(
                Record::parse(&changed),
                Err(LineFault::Changed),
                "{changed}"
            );
        }
    }
}
