use serde::Serialize;

use crate::report::consent::{Kind, Line};

/// In which direction a change goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// More may happen, or more may pass.
    Looser,
    /// Less may happen, or less may pass.
    Tighter,
    /// Nobody can say from the text.
    Other,
}

/// A line that is not the same in both versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The line as it was; `None`: it was not there.
    pub before: Option<Line>,
    /// The line as it is; `None`: it is gone.
    pub after: Option<Line>,
    /// In which direction it goes.
    pub way: Way,
}

/// A part of a plan that came, went or has another name: a step, a gate, a plan that is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Moved {
    /// It is new.
    Added {
        /// Which.
        part: String,
    },
    /// It is gone.
    Removed {
        /// Which.
        part: String,
    },
    /// It does the same under another name.
    Renamed {
        /// What it was called.
        from: String,
        /// What it is called.
        to: String,
    },
}

/// What changes in meaning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// Parts that came, went or have another name.
    pub moved: Vec<Moved>,
    /// Lines that differ, in the order of the plans. Those of parts that came or went are among
    /// them.
    pub changes: Vec<Change>,
}

impl Diff {
    /// Whether both mean the same.
    pub fn is_empty(&self) -> bool {
        self.moved.is_empty() && self.changes.is_empty()
    }

    /// As one JSON document. `same_bytes`: whether the files are the same to the byte.
    pub fn json(&self, same_bytes: bool) -> String {
        let changes: Vec<serde_json::Value> = self.changes.iter().map(Change::json).collect();
        let value = serde_json::json!({
            "same_meaning": self.is_empty(),
            "same_bytes": same_bytes,
            "parts": self.moved,
            "changes": changes,
        });
        format!("{value:#}\n")
    }
}

impl Change {
    /// The line as it is, else as it was.
    pub fn line(&self) -> Option<&Line> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// The word for what it does, by what it is about.
    pub fn word(&self) -> &'static str {
        let kind = self.line().map_or(Kind::About, |line| line.kind);
        match (self.way, kind) {
            (Way::Looser, Kind::Reach) => "wider",
            (Way::Tighter, Kind::Reach) => "narrower",
            (Way::Looser, Kind::Proof | Kind::Decision) => "weaker",
            (Way::Tighter, Kind::Proof | Kind::Decision) => "stronger",
            (Way::Looser, Kind::Effort) => "more",
            (Way::Tighter, Kind::Effort) => "less",
            _ if self.before.is_none() => "added",
            _ if self.after.is_none() => "removed",
            _ => "changed",
        }
    }

    fn json(&self) -> serde_json::Value {
        let text = |line: &Option<Line>| line.as_ref().map(|line| line.text.clone());
        serde_json::json!({
            "path": self.line().map(Line::path),
            "kind": self.line().map(|line| line.kind),
            "change": self.word(),
            "before": text(&self.before),
            "after": text(&self.after),
        })
    }
}
