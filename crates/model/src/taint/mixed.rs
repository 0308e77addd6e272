use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use wf_base::keywords;

keywords! {
    /// The trust in a value, by its source (Silas 5.12).
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum TaintLevel {
        /// From the user who runs the plan, or approved by approvers.
        #[default]
        Owner = "owner",
        /// From another authenticated actor: declared so for a parameter.
        Auth = "auth",
        /// From outside: made by a model or by work with network access, or derived from such a value.
        External = "external",
    }
}

/// The trust in a value, the reason for its limit, and the parameters it also depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MixedTaint {
    /// The trust, if every parameter is trusted as declared.
    pub taint: TaintLevel,
    /// The source of the least trusted part, for example "the http step `fetch`"; `None` if the
    /// owner is the source.
    pub from: Option<Arc<str>>,
    /// The parameters it also depends on.
    pub params: Arc<BTreeSet<String>>,
}

impl MixedTaint {
    /// Returns a value from a source.
    pub fn from_level(taint: TaintLevel, from: &str) -> Self {
        Self { taint, from: (taint > TaintLevel::Owner).then(|| from.into()), params: Arc::default() }
    }

    /// Returns a parameter with its declared trust.
    pub fn param(name: &str, taint: TaintLevel) -> Self {
        Self {
            params: Arc::new(BTreeSet::from([name.to_owned()])),
            ..Self::from_level(taint, &format!("the parameter `{name}`, which is {}", taint.as_str()))
        }
    }

    /// Mixes in another value: the result has the lesser trust of the two.
    pub fn mix_in(&mut self, other: &Self) {
        if other.taint > self.taint {
            self.taint = other.taint;
            self.from.clone_from(&other.from);
        }
        if !Arc::ptr_eq(&self.params, &other.params) && !other.params.is_subset(&self.params) {
            let both = self.params.union(&other.params).cloned();
            self.params = Arc::new(both.collect());
        }
    }

    /// Returns the mixture of all parts.
    pub fn mix_all<'m>(parts: impl IntoIterator<Item = &'m Self>) -> Self {
        let mut mixed = Self::default();
        for part in parts {
            mixed.mix_in(part);
        }
        mixed
    }

    /// Returns this value as seen by a plan using the plan at `path` with these parameters.
    #[must_use]
    pub fn from_nested_plan(&self, path: &str, params: &BTreeMap<String, Self>) -> Self {
        let from = self.from.as_ref().map(|from| format!("{from} of {path}").into());
        let mut mixed_taint = Self { taint: self.taint, from, params: Arc::default() };
        for value in self.params.iter().filter_map(|name| params.get(name)) {
            mixed_taint.mix_in(value);
        }
        mixed_taint
    }
}
