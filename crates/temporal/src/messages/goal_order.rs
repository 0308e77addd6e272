//! The messages of a goal decided about on a backend, and what is stored of it. Large parts go by digest.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use wf_app::goals::GoalDeployment;
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_core::goal::{GoalDriver, GoalRecord, ReconciliationRunEnd};
use wf_sign::approval::Approvers;

/// The input of the workflow of a goal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoalOrder {
    /// The object with its [`DeployedGoalSpec`].
    pub spec: Sha256Digest,
    /// The object with the [`GoalProgress`] it goes on with, after the history became too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Sha256Digest>,
}

/// The definition of a deployed goal, the same for its whole life.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeployedGoalSpec {
    /// The version of the machine's rules its runs begin with.
    pub logic_version: u32,
    /// The deployment. Its part of the state is stored for itself, and the places of its workspace are not stored.
    pub deployment: GoalDeployment,
    /// The part of the state going with its runs: the object with a [`CarriedState`](wf_engine::CarriedState).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Sha256Digest>,
    /// The path of the state of its workspace, relative to that if it is in there.
    pub state_folder: PathBuf,
    /// True if its workspace is the top folder of a git repository.
    pub is_repository: bool,
    /// The files of its workspace at deployment: the object with a [`Tree`](crate::files::tree::Tree).
    pub tree: Sha256Digest,
    /// The approvers whose answers count.
    pub approvers: Approvers,
    /// The task queues by their names in plans, with `default`.
    pub queues: BTreeMap<String, String>,
}

/// The object saying a deployed goal has begun. A server forgets ended workflows; they must not begin again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BegunGoalMark {
    /// The name of its deployment.
    pub begun_goal: String,
}

/// A deployed goal between two workflows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoalProgress {
    pub driver: GoalDriver,
    /// The permits of its runs.
    pub permits: PermitAccount,
    pub records: RecordChain,
    /// The time of its last step.
    pub now: Moment,
}

/// An account of the runs a deployed goal may start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PermitAccount {
    /// The number of the uses of its approval here.
    pub uses: u32,
    /// The time when the approval was withdrawn, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<Moment>,
    /// The files the next run begins with: the object with a [`Tree`](crate::files::tree::Tree).
    pub tree: Sha256Digest,
    /// The runs permitted and not yet ended.
    pub open: BTreeMap<RunId, PermittedRun>,
}

/// A permitted run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermittedRun {
    /// The object with its [`RunSpec`](crate::messages::order::RunSpec).
    pub spec: Sha256Digest,
    /// True if later runs begin with the files it leaves.
    pub changes_files: bool,
}

/// A chain of records as far as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordChain {
    /// The object with its last [`RecordPage`].
    pub last: Option<Sha256Digest>,
    pub count: u64,
}

/// A part of a chain of records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordPage {
    pub before: RecordChain,
    /// The records, in order.
    pub records: Vec<StoredRecord>,
}

/// A record of a deployed goal, as it is stored there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRecord {
    pub record: GoalRecord,
    /// The object with the [`RunSpec`](crate::messages::order::RunSpec) of the run it says was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Sha256Digest>,
}

/// The answer of the workflow of a goal to whoever reads its records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoalNews {
    /// The records as far as they are stored.
    pub stored: RecordChain,
    pub rest: Vec<StoredRecord>,
}

impl GoalNews {
    /// Returns the number of all records.
    pub fn count(&self) -> u64 {
        self.stored.count.saturating_add(self.rest.len() as u64)
    }
}

/// An order to start a run, unless it was started, and to wait for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunErrand {
    pub run: RunId,
    /// The object with its [`RunSpec`](crate::messages::order::RunSpec).
    pub spec: Sha256Digest,
    /// The task queue of its workflow.
    pub queue: String,
    /// True if the files it leaves are wanted.
    pub wants_files: bool,
    /// True if it is known to wait for people, so that only its end is news.
    pub is_waiting: bool,
}

/// The state of a run waited for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunReport {
    /// It does nothing until a person decides.
    Waits,
    Ended {
        end: ReconciliationRunEnd,
        /// The object with the [`Tree`](crate::files::tree::Tree) of the files it left, if they are wanted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Sha256Digest>,
    },
}

/// An order to send a notification.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotificationErrand {
    /// The object with the [`DeployedGoalSpec`] of the goal.
    pub spec: Sha256Digest,
    /// The files of its workspace: the object with a [`Tree`](crate::files::tree::Tree).
    pub tree: Sha256Digest,
    /// The notification with its recipient, as [`notifications`](wf_core::goal::notifications) makes it.
    pub notice: Value,
}
