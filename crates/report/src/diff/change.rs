use serde::Serialize;

use crate::consent::{SummaryLine, SummaryLineKind};

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeDirection {
    /// More may happen, or more may pass.
    Looser,
    /// Less may happen, or less may pass.
    Tighter,
    /// Not known from the text alone.
    Other,
}

/// A line that differs between the two versions.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryChange {
    /// The line before the change; `None` if it is new.
    pub before: Option<SummaryLine>,
    /// The line after the change; `None` if it is gone.
    pub after: Option<SummaryLine>,
    pub direction: ChangeDirection,
}

/// An added, removed or renamed part of a plan: a step, a gate, a used plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum PartChange {
    /// A new part.
    Added {
        part: String,
    },
    Removed {
        part: String,
    },
    /// A part with the same content under another name.
    Renamed {
        /// The former name.
        from: String,
        /// The new name.
        to: String,
    },
}

/// The changes in meaning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanDiff {
    /// Parts that were added, removed or renamed.
    pub parts: Vec<PartChange>,
    /// Lines that differ, in the order of the plans, those of added and removed parts among them.
    pub changes: Vec<SummaryChange>,
}

impl PlanDiff {
    /// True if both mean the same.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.changes.is_empty()
    }

    /// Returns it as one JSON document. `same_bytes`: true if the files are the same to the byte.
    pub fn json(&self, same_bytes: bool) -> String {
        let changes: Vec<serde_json::Value> = self.changes.iter().map(SummaryChange::json).collect();
        let value = serde_json::json!({
            "same_meaning": self.is_empty(),
            "same_bytes": same_bytes,
            "parts": self.parts,
            "changes": changes,
        });
        format!("{value:#}\n")
    }
}

impl SummaryChange {
    /// Returns the line after the change, else the one before.
    pub fn line(&self) -> Option<&SummaryLine> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// Returns the word for its effect, by its subject.
    pub fn word(&self) -> &'static str {
        let kind = self.line().map_or(SummaryLineKind::About, |line| line.kind);
        match (self.direction, kind) {
            (ChangeDirection::Looser, SummaryLineKind::Reach) => "wider",
            (ChangeDirection::Tighter, SummaryLineKind::Reach) => "narrower",
            (ChangeDirection::Looser, SummaryLineKind::Proof | SummaryLineKind::Decision) => "weaker",
            (ChangeDirection::Tighter, SummaryLineKind::Proof | SummaryLineKind::Decision) => "stronger",
            (ChangeDirection::Looser, SummaryLineKind::Effort) => "more",
            (ChangeDirection::Tighter, SummaryLineKind::Effort) => "less",
            _ if self.before.is_none() => "added",
            _ if self.after.is_none() => "removed",
            _ => "changed",
        }
    }

    fn json(&self) -> serde_json::Value {
        let text = |line: &Option<SummaryLine>| line.as_ref().map(|line| line.text.clone());
        serde_json::json!({
            "path": self.line().map(SummaryLine::path),
            "kind": self.line().map(|line| line.kind),
            "change": self.word(),
            "before": text(&self.before),
            "after": text(&self.after),
        })
    }
}
