//! The user's choice of steps to run again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use wf_base::name::{Name, TaskRef};

/// The user's choice of what to run again, in a run or a run nested in it. Steps are named by their
/// path, items by their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatChoice {
    /// Run everything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Run only what is chosen, whether the rest succeeded or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub narrow: bool,
    /// Run these and their dependants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Vec<TaskRef>>,
    /// Run these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Vec<TaskRef>>,
    /// Run the dependants of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downstream: Vec<Vec<TaskRef>>,
}

/// The key in the configuration of a run under which its choice is recorded.
const KEY: &str = "retry";

impl RepeatChoice {
    /// Returns the record for the configuration of a run; null if nothing was chosen.
    pub fn record(&self) -> Value {
        if *self == Self::default() { Value::Null } else { json!({ KEY: self }) }
    }

    /// Reads the choice recorded in the configuration of a run.
    pub fn recorded(config: &Value) -> Self {
        let choice = config.get(KEY).cloned().map(serde_json::from_value);
        choice.and_then(Result::ok).unwrap_or_default()
    }

    pub(super) fn is_whole_chosen(&self, step: &Name) -> bool {
        let own = |path: &Vec<TaskRef>| matches!(path.as_slice(), [spot] if spot.step == *step && spot.item.is_none());
        self.all || self.from.iter().chain(&self.only).any(own)
    }

    /// Returns the items of a step that were chosen as a whole.
    pub(super) fn items(&self, step: &Name) -> BTreeSet<&str> {
        let chosen = self.from.iter().chain(&self.only);
        let own = chosen.filter_map(|path| match path.as_slice() {
            [spot] if spot.step == *step => spot.item.as_deref(),
            _ => None,
        });
        own.collect()
    }

    /// Returns the items of a step inside which something was chosen; `None` stands for every item,
    /// or for a step that is not repeated.
    pub(super) fn chosen_items(&self, step: &Name) -> BTreeSet<Option<&str>> {
        let inner = self.paths().filter_map(|path| match path.as_slice() {
            [spot, _, ..] if spot.step == *step => Some(spot.item.as_deref()),
            _ => None,
        });
        inner.collect()
    }

    /// Returns the steps with chosen dependants.
    pub(super) fn downstream_roots(&self) -> impl Iterator<Item = &Name> {
        let paths = self.from.iter().chain(&self.downstream);
        paths.filter_map(|path| path.first().map(|spot| &spot.step))
    }

    /// Returns the choice inside a step or an item of it.
    pub(super) fn nested_choice(&self, step: &Name, key: Option<&str>) -> Self {
        let tails = |paths: &Vec<Vec<TaskRef>>| {
            let inner = paths.iter().filter_map(|path| {
                let (first, rest) = path.split_first()?;
                let here = first.step == *step && (first.item.is_none() || first.item.as_deref() == key);
                (here && !rest.is_empty()).then(|| rest.to_vec())
            });
            inner.collect()
        };
        Self {
            all: self.all,
            narrow: self.narrow,
            from: tails(&self.from),
            only: tails(&self.only),
            downstream: tails(&self.downstream),
        }
    }

    fn paths(&self) -> impl Iterator<Item = &Vec<TaskRef>> {
        self.from.iter().chain(&self.only).chain(&self.downstream)
    }
}
