//! A run in a list: its row, its process, and how far it has come.
//!
//! Tables, pages and the interface for programs are made of the same one, so that they say the same of a run.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::lifecycle::{RunLifecycle, write_lifecycle};
use wf_base::units::size;
use wf_model::JsonObject;
use wf_store::{RunOwner, RunRow};

/// The most bytes of a value in a list, and of all values of a run.
const MAX_VALUE_BYTES: usize = 500;
const MAX_LISTED_BYTES: usize = 5_000;

/// A run as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunListing {
    pub row: RunRow,
    /// The process working on it, or did when it died.
    pub owner: Option<RunOwner>,
    /// The ended steps, if it has not ended itself; `None`: they were not counted.
    pub progress: Option<StepProgress>,
    /// The time worked on it so far, if it has not ended; `None`: it was not read, or nobody knows it.
    pub so_far: Option<Duration>,
}

/// The steps of a run that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StepProgress {
    /// The steps that have ended.
    pub done: u32,
    /// The steps of its plan; `None`: the plan was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
}

impl RunListing {
    pub fn new(row: RunRow, owner: Option<RunOwner>) -> Self {
        Self { row, owner, progress: None, so_far: None }
    }

    /// Returns its state in its life cycle.
    pub fn life(&self) -> RunLifecycle {
        RunLifecycle::of(&self.row, self.owner)
    }

    /// Returns the time it took, or has taken so far.
    pub fn took(&self) -> Option<Duration> {
        self.row.duration().or(self.so_far)
    }

    /// Cuts what a list has no room for: the run itself has it whole.
    pub fn cut(&mut self) {
        for values in [&mut self.row.params, &mut self.row.outputs] {
            cut_values(values);
        }
    }

    /// Returns it as a document for a list: its row, with its state in its life cycle, and long values cut.
    pub fn document(&self) -> Value {
        let mut cut = self.clone();
        cut.cut();
        let mut value = serde_json::to_value(&cut.row).unwrap_or_default();
        let life = Value::from(self.life().as_str());
        write_lifecycle(&mut value, &life);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("life".into(), life);
            if self.owner.is_some_and(|owner| owner.alive) {
                fields.insert("has_process".into(), json!(true));
            }
            if let Some(progress) = self.progress {
                fields.insert("progress".into(), json!(progress));
            }
            if let Some(so_far) = self.so_far {
                fields.insert("took_ms".into(), json!(u64::try_from(so_far.as_millis()).unwrap_or(u64::MAX)));
            }
        }
        value
    }
}

/// Cuts each value that is longer than a list shows, and those behind the first ones that fill its room.
fn cut_values(values: &mut JsonObject) {
    let mut room = MAX_LISTED_BYTES;
    for value in values.values_mut() {
        let text = match &*value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let shown = room.min(MAX_VALUE_BYTES);
        if text.len() > shown {
            let first = text.get(..text.floor_char_boundary(shown)).unwrap_or_default();
            *value = format!("{first}… (cut, {} in all)", size(text.len() as u64)).into();
        }
        room = room.saturating_sub(text.len());
    }
}

impl StepProgress {
    /// Returns it in words: `3 of 7`.
    pub fn text(self) -> String {
        match self.total {
            Some(total) => format!("{} of {total}", self.done),
            None => format!("{} ended", self.done),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{RunListing, StepProgress};
    use crate::record::tests::sample;
    use wf_store::RunState;

    #[test]
    fn a_list_cuts_long_values_and_marks_them() {
        let mut one = RunListing::new(sample::run(), None);
        one.row.params = [("day", "mon".into()), ("text", "ä".repeat(500_000).into())]
            .into_iter()
            .chain((0..20).map(|_| ("x", "".into())))
            .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
            .collect();
        one.row.outputs = (0..1000).map(|at| (format!("o{at}"), "y".repeat(400).into())).collect();
        let document = one.document();
        assert_eq!(document["params"]["day"], "mon");
        let text = document["params"]["text"].as_str().unwrap();
        assert!(text.starts_with("ää") && text.ends_with("… (cut, 976.5 KiB in all)"), "{text}");
        assert!(document.to_string().len() < 60_000, "{}", document.to_string().len());
        assert_eq!(one.row.params["text"].as_str().map(str::len), Some(1_000_000), "the run has it whole");
    }

    #[test]
    fn a_document_has_one_word_for_the_state_and_says_how_far_the_run_has_come() {
        let mut one = RunListing::new(sample::run(), None);
        assert_eq!((one.document().get("progress"), one.document().get("took_ms")), (None, None));
        assert_eq!(one.took(), Some(Duration::from_millis(3_210)));
        (one.row.state, one.row.ended) = (RunState::Running, None);
        assert_eq!(one.took(), None, "nobody has looked");
        (one.progress, one.so_far) =
            (Some(StepProgress { done: 2, total: Some(5) }), Some(Duration::from_secs(3)));
        let document = one.document();
        assert_eq!((&document["state"], &document["life"]), (&"interrupted".into(), &"interrupted".into()));
        assert_eq!(document["progress"], serde_json::json!({"done": 2, "total": 5}));
        assert_eq!((&document["took_ms"], one.took()), (&3000.into(), Some(Duration::from_secs(3))));
    }
}
