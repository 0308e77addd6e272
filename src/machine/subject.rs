use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::Name;

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
