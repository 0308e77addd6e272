use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_sign::{canonical, canonical_without};
use wf_store::feed::LogAnchor;

/// The version of the audit log's format. Within a version, keys and kinds are only added.
pub const VERSION: u32 = 1;

/// The hash before the first record.
pub const BEGINNING: [u8; 32] = [0; 32];

/// A record of the audit log: one line of canonical JSON, bound to the line before by its hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AuditRecord {
    /// The version of the format.
    pub v: u32,
    /// Its number, from one.
    pub n: u64,
    /// The hash of the record before; 64 zeros in the first one.
    pub prev: Sha256Digest,
    /// SHA-256 of this record without this key, as canonical JSON.
    pub hash: Sha256Digest,
    /// The entry.
    #[serde(flatten)]
    pub entry: AuditEntry,
}

/// The content of a record, before it has its position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AuditEntry {
    /// The time of the event.
    pub at: Moment,
    /// The kind, in one word: that of an event, of an act, or of the auditor itself.
    pub kind: String,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanId>,
    /// The tasks above the run, outermost first, if it is nested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The step, or the item of a step: `build`, `fetch[2]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The position of the event in the database's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db: Option<LogAnchor>,
    /// The source from which the auditor learned of it.
    #[serde(default, skip_serializing_if = "is_bus")]
    pub source: AuditSource,
    /// A small summary: never outputs, parameters or printed text.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub about: Map<String, Value>,
}

/// The source from which the auditor learned of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditSource {
    /// The bus, when the event became durable.
    #[default]
    Bus,
    /// The database, afterwards.
    Database,
}

/// A fault of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineFault {
    /// It is not a record.
    #[error("is not a record")]
    NoRecord,
    /// A later version made it.
    #[error("was written by a newer wf")]
    Later,
    /// It differs from what was written.
    #[error("was modified")]
    Changed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_bus(source: &AuditSource) -> bool {
    *source == AuditSource::Bus
}

impl AuditEntry {
    /// Makes an entry about no run.
    pub fn new(at: Moment, kind: &str) -> Self {
        Self {
            at,
            kind: kind.into(),
            run: None,
            plan: None,
            path: Vec::new(),
            place: None,
            db: None,
            source: AuditSource::Bus,
            about: Map::new(),
        }
    }

    /// Adds the summary.
    #[must_use]
    pub fn with_summary(mut self, about: &impl Serialize) -> Self {
        if let Ok(Value::Object(about)) = serde_json::to_value(about) {
            self.about = about;
        }
        self
    }

    /// Parses the summary as a type.
    pub fn read<T: for<'a> Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_value(Value::Object(self.about.clone())).ok()
    }

    /// Returns a word of the summary.
    pub fn summary_text(&self, key: &str) -> Option<&str> {
        self.about.get(key)?.as_str()
    }

    /// Returns a number of the summary.
    pub fn summary_number(&self, key: &str) -> Option<u64> {
        self.about.get(key)?.as_u64()
    }

    /// Binds the entry to the record before it.
    pub fn bind(self, n: u64, prev: Sha256Digest) -> AuditRecord {
        self.bind_line(n, prev).0
    }

    /// Binds the entry to the record before it; returns its line, too.
    pub(crate) fn bind_line(mut self, n: u64, prev: Sha256Digest) -> (AuditRecord, String) {
        self.about.values_mut().for_each(normalize_values);
        let mut record = AuditRecord { v: VERSION, n, prev, hash: BEGINNING.into(), entry: self };
        let mut fields = match serde_json::to_value(&record) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        fields.remove("hash");
        let (mut line, at) = canonical_without(&fields, "hash");
        record.hash = Sha256Digest::of_bytes(line.as_bytes());
        // Some keys come before it, and some after it.
        line.insert_str(at, &format!(",\"hash\":\"{}\"", record.hash));
        (record, line)
    }
}

impl AuditRecord {
    /// Returns its line, without the line end.
    pub fn line(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Parses a line. Its content is verified against its hash, not its relation to the line
    /// before.
    pub fn parse(line: &str) -> Result<Self, LineFault> {
        let value: Value = serde_json::from_str(line).map_err(|_| LineFault::NoRecord)?;
        let later = |v: &Value| v.as_u64().is_some_and(|v| v > u64::from(VERSION));
        if value.get("v").is_some_and(later) {
            return Err(LineFault::Later);
        }
        let record = Self::deserialize(&value).map_err(|_| LineFault::NoRecord)?;
        // There is only one way to write a record, so that no change of a byte goes undetected.
        if canonical(&value) != line || own_hash(value) != record.hash {
            return Err(LineFault::Changed);
        }
        Ok(record)
    }

    /// Parses a line without verifying its hash; `None` if it is not a record.
    pub(crate) fn parse_unverified(line: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(line).ok()?;
        (record.v <= VERSION).then_some(record)
    }
}

fn own_hash(mut value: Value) -> Sha256Digest {
    if let Value::Object(fields) = &mut value {
        fields.remove("hash");
    }
    Sha256Digest::of_bytes(canonical(&value).as_bytes())
}

/// Replaces the parts of a text that tools write in different ways.
fn normalize_values(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(char::is_control) => {
            *text = text.chars().filter(|c| !c.is_control()).collect();
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_values),
        Value::Object(fields) => fields.values_mut().for_each(normalize_values),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{AuditEntry, AuditRecord, BEGINNING, LineFault};
    use serde_json::json;
    use wf_base::{digest::Sha256Digest, time::Moment};

    #[test]
    fn a_line_says_what_was_written() {
        let entry =
            AuditEntry::new(Moment::default(), "pruned").with_summary(&json!({"runs": 2, "t": "a\u{7f}\n"}));
        let record = entry.bind(1, BEGINNING.into());
        let line = record.line();
        assert_eq!(AuditRecord::parse(&line).unwrap(), record);
        assert_eq!(record.entry.summary_text("t"), Some("a"));
        // As with `jq -cS 'del(.hash)' | sha256sum`, without the line end.
        let without = line.replace(&format!("\"hash\":\"{}\",", record.hash), "");
        assert_eq!(Sha256Digest::of_bytes(without.as_bytes()), record.hash);
        let later = line.replace("\"v\":1", "\"v\":2");
        assert_eq!(AuditRecord::parse(&later), Err(LineFault::Later));
        assert_eq!(AuditRecord::parse("{}"), Err(LineFault::NoRecord));
        for changed in
            [line.replace("pruned", "prunes"), line.clone() + " ", line.replace("\"n\":1", "\"n\":1,\"n\":1")]
        {
            assert_eq!(AuditRecord::parse(&changed), Err(LineFault::Changed), "{changed}");
        }
    }
}
