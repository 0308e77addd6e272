//! A goal under a backend: its freight to there, and the words for the program at the backend.
//!
//! The program `wf-temporal goal NAME` reads one [`GoalRequest`] from its standard input and writes one [`GoalAnswer`] to its
//! standard output, as JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approve::CarriedApproval;
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_core::{
    goal::{GoalAccountAtDeployment, GoalRecord},
    machine::RunApproval,
};
use wf_engine::CarriedState;
use wf_model::{Goal, JsonObject};

/// A goal as it is carried to a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoalDeployment {
    /// The name of the deployment, which no other one has: the ids of its runs follow from it.
    pub name: String,
    pub goal: Goal,
    pub account: GoalAccountAtDeployment,
    /// The path of its file, relative to the root.
    pub path: String,
    /// The texts of its runs: its own first, its approval among them.
    pub sources: Vec<(String, String)>,
    /// Its check runs.
    pub look: DeployedPart,
    /// Its repairs; `None`: it reports only.
    pub repair: Option<DeployedPart>,
    /// The part of the state that goes with it.
    pub carried: CarriedState,
    /// The root of its workspace.
    pub root: PathBuf,
    pub state: PathBuf,
}

/// A part of the reconciliations of a goal, as a backend starts its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeployedPart {
    /// The configuration of its runs.
    pub config: Value,
    /// The approval they start under.
    pub approval: CarriedApproval,
}

/// A deployed goal as its workspace records it, and as it is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeployedGoal {
    pub backend: String,
    /// The id of its workflow.
    pub workflow: String,
    /// The object with all of its preparation.
    pub spec: Sha256Digest,
    pub since: Moment,
    /// The number of its records in the workspace.
    pub recorded: u64,
}

/// A request to the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalRequest {
    /// To store what a goal needs there; nothing starts.
    Prepare(Box<GoalDeployment>),
    /// To start a prepared goal; a second start is the first.
    Start {
        /// The id of its workflow.
        workflow: String,
        /// The object of its preparation.
        spec: Sha256Digest,
    },
    /// To tell the records of a goal after a number of them.
    Records {
        /// The id of its workflow.
        workflow: String,
        /// The number of known records.
        after: u64,
    },
    Act {
        /// The id of its workflow.
        workflow: String,
        act: GoalAct,
    },
}

/// An act of a person on a deployed goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalAct {
    Pause {
        reason: String,
    },
    /// To end its pause.
    Resume,
    /// To reconcile it now.
    Request,
    /// To start no more repairs under its approval, or no more of its steps if it has no checks.
    Withdraw,
    /// To leave it to its workspace again, once what is under way has ended.
    Recall {
        cancels: bool,
    },
}

/// The answer of the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalAnswer {
    /// All is stored.
    Prepared {
        /// The id its workflow is to have.
        workflow: String,
        /// The object it starts with.
        spec: Sha256Digest,
    },
    Done,
    /// The next records, none if there are no others yet.
    Records(RecordBatch),
    /// The reason why it cannot be done.
    Failed(String),
}

/// The next records of a deployed goal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordBatch {
    pub records: Vec<DeployedRecord>,
    /// The number of all its records there, known ones included.
    pub count: u64,
}

/// A record of a deployed goal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeployedRecord {
    pub record: GoalRecord,
    /// The run started according to it.
    pub started: Option<Box<StartedRun>>,
}

/// A run started by a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartedRun {
    pub run: RunId,
    /// The path of its plan.
    pub path: String,
    pub sources: Vec<(String, String)>,
    /// Its resolved parameters.
    pub params: JsonObject,
    pub approved: RunApproval,
    /// The configuration it runs under.
    pub config: Value,
    pub at: Moment,
}
