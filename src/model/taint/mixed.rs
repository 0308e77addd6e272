use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How far a value is trusted, by where it comes from (Silas 5.12).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Taint {
    /// From who runs the plan, or approved by people.
    #[default]
    Owner,
    /// From somebody else who is known: declared so of a parameter.
    Auth,
    /// From outside: what has a network gives it, a model, or it was made of such.
    External,
}

impl Taint {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Auth => "auth",
            Self::External => "external",
        }
    }
}

/// How far a value is trusted, why no further, and on which parameters that hangs besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mixed {
    /// How far, if every parameter is trusted as it is declared.
    pub taint: Taint,
    /// Where the least trusted part comes from, for example "the http step `fetch`"; `None` where
    /// the owner is the source.
    pub from: Option<Arc<str>>,
    /// The parameters that it is made of, too.
    pub params: Arc<BTreeSet<String>>,
}

impl Mixed {
    /// A value from a source.
    pub fn of(taint: Taint, from: &str) -> Self {
        Self {
            taint,
            from: (taint > Taint::Owner).then(|| from.into()),
            params: Arc::default(),
        }
    }

    /// A parameter, as far as it is declared to be trusted.
    pub fn param(name: &str, taint: Taint) -> Self {
        Self {
            params: Arc::new(BTreeSet::from([name.to_owned()])),
            ..Self::of(
                taint,
                &format!("the parameter `{name}`, which is {}", taint.as_str()),
            )
        }
    }

    /// Mixes something in: the result is as little trusted as the lesser of both.
    pub fn mix(&mut self, other: &Self) {
        if other.taint > self.taint {
            self.taint = other.taint;
            self.from.clone_from(&other.from);
        }
        if !Arc::ptr_eq(&self.params, &other.params) && !other.params.is_subset(&self.params) {
            let both = self.params.union(&other.params).cloned();
            self.params = Arc::new(both.collect());
        }
    }

    /// The mixture of all.
    pub fn all<'m>(parts: impl IntoIterator<Item = &'m Self>) -> Self {
        let mut mixed = Self::default();
        for part in parts {
            mixed.mix(part);
        }
        mixed
    }

    /// What this is for who uses the plan of a file with these values for its parameters.
    #[must_use]
    pub fn seen(&self, path: &str, given: &BTreeMap<String, Self>) -> Self {
        let from = self
            .from
            .as_ref()
            .map(|from| format!("{from} of {path}").into());
        let mut seen = Self {
            taint: self.taint,
            from,
            params: Arc::default(),
        };
        for value in self.params.iter().filter_map(|name| given.get(name)) {
            seen.mix(value);
        }
        seen
    }
}
