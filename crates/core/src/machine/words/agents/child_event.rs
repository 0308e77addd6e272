//! The facts about the child runs of an agent, and its child runs as these facts tell.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{
    agent::{ChildReport, ChildStart},
    machine::words::{Attempt, AttemptUsage, Standing, ToolCallId, WorkExit},
};
use wf_base::name::{Name, PlanId, TaskPathError};
use wf_model::JsonObject;

/// A child run of an agent. Its parameters are in the agent's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChildDispatch {
    /// The tool call.
    #[serde(flatten)]
    pub id: ToolCallId,
    /// The id of the child run in its attempt.
    pub child: Name,
    /// The plan.
    pub plan: PlanId,
    /// The child runs to succeed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Name>,
}

/// A child run of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChildId {
    /// The attempt of its agent.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// Its id in the attempt.
    pub child: Name,
}

/// The end of a child run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChildEnd {
    /// The child run.
    #[serde(flatten)]
    pub id: ChildId,
    /// The exit.
    pub exit: WorkExit,
    /// The verification status of its result.
    pub standing: Standing,
    /// Its outputs.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub outputs: JsonObject,
    /// The resources used by it.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
}

/// A child run of an agent's attempt, and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildRecord {
    /// The request for it.
    pub start: ChildStart,
    /// Its progress.
    pub phase: ChildPhase,
}

/// The progress of a child run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildPhase {
    /// It waits for others, or for its turn.
    Waiting,
    /// It has begun.
    Running,
    /// It has ended.
    Ended(Box<ChildEnd>),
}

impl ChildId {
    /// Returns the task of the child run in the names of tasks: `audit/docs`, `audit[2]/docs`.
    pub fn task_path(&self) -> String {
        format!("{}/{}", self.attempt.task_id, self.child)
    }

    /// Returns its name, in the form of an attempt: `audit/docs#1`.
    pub fn attempt_path(&self) -> String {
        format!("{}#{}", self.task_path(), self.attempt.attempt)
    }
}

impl FromStr for ChildId {
    type Err = TaskPathError;

    /// Reads a child run by its name in the form of an attempt.
    fn from_str(text: &str) -> Result<Self, TaskPathError> {
        let bad = || TaskPathError(text.to_owned());
        let (path, attempt) = text.rsplit_once('#').ok_or_else(bad)?;
        let (place, child) = path.rsplit_once('/').ok_or_else(bad)?;
        let attempt = Attempt { task_id: place.parse()?, attempt: attempt.parse().map_err(|_| bad())? };
        Ok(Self { attempt, child: Name::parse(child).map_err(|_| bad())? })
    }
}

impl ChildEnd {
    /// Returns the end of a child run without a result: it has not begun, or its work was lost.
    pub fn without_result(id: ChildId, exit: WorkExit) -> Self {
        let (standing, outputs) = (Standing::Unchecked, JsonObject::new());
        Self { id, exit, standing, outputs, usage: AttemptUsage::default() }
    }
}

impl ChildRecord {
    /// Returns the end, if it has ended.
    pub fn end(&self) -> Option<&ChildEnd> {
        match &self.phase {
            ChildPhase::Ended(end) => Some(end),
            ChildPhase::Waiting | ChildPhase::Running => None,
        }
    }

    /// Returns the report of it to a model. A claim of the run itself is never more than its status.
    pub(in crate::machine) fn report(&self) -> ChildReport {
        let (status, error) = match &self.phase {
            ChildPhase::Waiting | ChildPhase::Running => return ChildReport::dispatched(&self.start),
            ChildPhase::Ended(end) => match &end.exit {
                exit if exit.is_success() => (end.standing.as_str(), None),
                WorkExit::Cancelled => ("cancelled", None),
                exit => ("failed", Some(exit.to_string())),
            },
        };
        ChildReport {
            id: self.start.child.clone(),
            plan: self.start.plan.clone(),
            status: status.to_owned(),
            outputs: self.end().map(|end| end.outputs.clone()).unwrap_or_default(),
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ChildId;

    #[test]
    fn a_child_run_is_read_as_it_is_written() {
        for text in ["audit/docs#1", "audit[2]/docs#13"] {
            assert_eq!(text.parse::<ChildId>().unwrap().attempt_path(), text);
        }
        for text in ["audit#1", "audit/docs", "a/b/c#1", "audit[eu]/docs#1"] {
            assert!(text.parse::<ChildId>().is_err(), "{text}");
        }
    }
}
