use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::name::{BadSubject, Name, Subject};
use crate::untrusted::hides;

/// One execution place of a run: a step, or one item of a step that is repeated.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Place {
    /// The step.
    pub step: Name,
    /// The item, from zero, where the step is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// One execution of a place: the subject of processes, logs and idempotency keys.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Attempt {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Which, from one.
    pub attempt: u32,
}

impl Place {
    /// The place of a step that is not repeated.
    pub fn of(step: &Name) -> Self {
        Self {
            step: step.clone(),
            item: None,
        }
    }

    /// The place as people are shown it and name it: an item by its key, where that can be named,
    /// and else by its number.
    pub fn called(&self, key: Option<&str>) -> String {
        match key.filter(|key| self.item.is_some() && is_name(key)) {
            Some(key) => format!("{}[{key}]", self.step),
            None => self.to_string(),
        }
    }
}

/// Whether the key of an item says what the item is, and can be typed: digests say nothing.
fn is_name(key: &str) -> bool {
    let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let is_digest = key.len() == Digest::SHORT && key.chars().all(is_hex);
    !key.is_empty() && !is_digest && !hides(key) && !key.contains(['[', ']', '\n', '\t'])
}

impl FromStr for Place {
    type Err = BadSubject;

    /// Reads a place as it is written, an item by its number.
    fn from_str(text: &str) -> Result<Self, BadSubject> {
        let bad = || BadSubject(text.to_owned());
        let subject: Subject = text.parse()?;
        let item = subject.spot.item.map(|item| item.parse::<u32>());
        Ok(Self {
            step: subject.spot.step,
            item: item.transpose().map_err(|_| bad())?,
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Some(item) => write!(f, "{}[{item}]", self.step),
            None => write!(f, "{}", self.step),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.place, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn an_item_is_called_by_a_key_that_can_be_typed() {
        let place: Place = "build[2]".parse().unwrap();
        for (key, name) in [
            (Some("linux,3.12"), "build[linux,3.12]"),
            (Some("a/b#2"), "build[a/b#2]"),
            (Some("8080"), "build[8080]"),
            (Some("3f2a1b4c5d6e"), "build[2]"),
            (Some("a]b"), "build[2]"),
            (Some("a\u{1b}[31m"), "build[2]"),
            (Some("a\u{202e}b"), "build[2]"),
            (Some(""), "build[2]"),
            (None, "build[2]"),
        ] {
            assert_eq!(place.called(key), name);
        }
        assert_eq!(Place::of(&place.step).called(Some("eu")), "build");
        assert!("build[eu]".parse::<Place>().is_err());
    }
}
