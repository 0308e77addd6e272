//! The names of tasks and attempts.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use wf_base::{
    digest::Sha256Digest,
    name::{Name, TaskPath, TaskPathError, has_paired_brackets},
    untrusted::hides,
};

/// A task of a run: a step, or one item of a repeated step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskId {
    /// The step.
    pub step: Name,
    /// The item, from zero, where the step is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// One execution of a task: the subject of processes, logs and idempotency keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Attempt {
    /// The task.
    #[serde(flatten)]
    pub task_id: TaskId,
    /// Its number, from one.
    pub attempt: u32,
}

impl TaskId {
    /// Returns the only task of a step.
    pub fn of_step(step: &Name) -> Self {
        Self { step: step.clone(), item: None }
    }

    /// True if another task is the same, or an item of this step.
    pub fn contains(&self, other: &Self) -> bool {
        self.step == other.step && (self.item.is_none() || self.item == other.item)
    }

    /// Returns the display name of the task, also for users to type: an item by its key, if it
    /// is readable, and else by its number.
    pub fn display_name(&self, key: Option<&str>) -> String {
        match key.filter(|key| self.item.is_some() && is_name(key)) {
            Some(key) => format!("{}[{key}]", self.step),
            None => self.to_string(),
        }
    }
}

/// True if the key of an item is descriptive and can be typed: digests are not.
fn is_name(key: &str) -> bool {
    let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let is_digest = key.len() == Sha256Digest::SHORT && key.chars().all(is_hex);
    !key.is_empty() && !is_digest && !hides(key) && has_paired_brackets(key) && !key.contains(['\n', '\t'])
}

impl FromStr for TaskId {
    type Err = TaskPathError;

    /// Reads a task as it is written, an item by its number.
    fn from_str(text: &str) -> Result<Self, TaskPathError> {
        let bad = || TaskPathError(text.to_owned());
        let subject: TaskPath = text.parse()?;
        if !subject.above.is_empty() {
            return Err(bad());
        }
        let item = subject.spot.item.map(|item| item.parse::<u32>());
        Ok(Self { step: subject.spot.step, item: item.transpose().map_err(|_| bad())? })
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Some(item) => write!(f, "{}[{item}]", self.step),
            None => write!(f, "{}", self.step),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.task_id, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::TaskId;

    #[test]
    fn an_item_is_called_by_a_key_that_can_be_typed() {
        let task_id: TaskId = "build[2]".parse().unwrap();
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
            assert_eq!(task_id.display_name(key), name);
        }
        assert_eq!(TaskId::of_step(&task_id.step).display_name(Some("eu")), "build");
        assert!("build[eu]".parse::<TaskId>().is_err());
        assert!("audit/docs".parse::<TaskId>().is_err());
    }
}
