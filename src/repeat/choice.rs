use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::name::{Name, Spot};

/// What somebody chose to run again, of a run or of a run nested in it. Steps are named by the
/// way to them, items by their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Everything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Nothing that is not chosen, whether it succeeded or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub narrow: bool,
    /// These and what depends on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<Vec<Spot>>,
    /// These.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Vec<Spot>>,
    /// What depends on these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub downstream: Vec<Vec<Spot>>,
}

/// The key in the configuration of a run under which its choice is recorded.
const KEY: &str = "retry";

impl Choice {
    /// What the configuration of a run records of it; nothing if nothing was chosen.
    pub fn record(&self) -> Value {
        if *self == Self::default() {
            Value::Null
        } else {
            json!({ KEY: self })
        }
    }

    /// What the configuration of a run recorded.
    pub fn recorded(config: &Value) -> Self {
        let choice = config.get(KEY).cloned().map(serde_json::from_value);
        choice.and_then(Result::ok).unwrap_or_default()
    }

    /// Whether a step was chosen as a whole.
    pub(super) fn whole(&self, step: &Name) -> bool {
        let own = |path: &Vec<Spot>| matches!(path.as_slice(), [spot] if spot.step == *step && spot.item.is_none());
        self.all || self.from.iter().chain(&self.only).any(own)
    }

    /// The items of a step that were chosen as a whole.
    pub(super) fn items(&self, step: &Name) -> BTreeSet<&str> {
        let chosen = self.from.iter().chain(&self.only);
        let own = chosen.filter_map(|path| match path.as_slice() {
            [spot] if spot.step == *step => spot.item.as_deref(),
            _ => None,
        });
        own.collect()
    }

    /// The items of a step inside of which something was chosen; `None` stands for every item, or
    /// for a step that is not repeated.
    pub(super) fn through(&self, step: &Name) -> BTreeSet<Option<&str>> {
        let inner = self.paths().filter_map(|path| match path.as_slice() {
            [spot, _, ..] if spot.step == *step => Some(spot.item.as_deref()),
            _ => None,
        });
        inner.collect()
    }

    /// The steps whose dependants were chosen.
    pub(super) fn roots(&self) -> impl Iterator<Item = &Name> {
        let paths = self.from.iter().chain(&self.downstream);
        paths.filter_map(|path| path.first().map(|spot| &spot.step))
    }

    /// What was chosen inside of a step or an item of it.
    pub(super) fn inside(&self, step: &Name, key: Option<&str>) -> Self {
        let tails = |paths: &Vec<Vec<Spot>>| {
            let inner = paths.iter().filter_map(|path| {
                let (first, rest) = path.split_first()?;
                let here =
                    first.step == *step && (first.item.is_none() || first.item.as_deref() == key);
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

    fn paths(&self) -> impl Iterator<Item = &Vec<Spot>> {
        self.from.iter().chain(&self.only).chain(&self.downstream)
    }
}
