//! A goal that is decided about on a backend: what is carried there, and the words for the program that goes there.
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
    /// The texts that its runs run by: its own first, its approval among them.
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
    /// The approval that they start under.
    pub approval: CarriedApproval,
}

/// A deployed goal as its workspace records it, and as it is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeployedGoal {
    pub backend: String,
    /// The id of its workflow.
    pub workflow: String,
    /// The object with all that it was prepared with.
    pub spec: Sha256Digest,
    pub since: Moment,
    /// The number of its records that the workspace has.
    pub recorded: u64,
}

/// A request to the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalRequest {
    /// To store what a goal needs there; nothing starts.
    Prepare(Box<GoalDeployment>),
    /// To start a goal that was prepared; if it was started before, it is that one.
    Start {
        /// The id of its workflow.
        workflow: String,
        /// The object that it was prepared with.
        spec: Sha256Digest,
    },
    /// To tell the records of a goal after a number of them.
    Records {
        /// The id of its workflow.
        workflow: String,
        /// The number of records that are known.
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
        /// The id that its workflow is to have.
        workflow: String,
        /// The object that it starts with.
        spec: Sha256Digest,
    },
    Done,
    /// The next records, none if there are no others yet.
    Records(Vec<DeployedRecord>),
    /// The reason why it cannot be done.
    Failed(String),
}

/// A record of a deployed goal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeployedRecord {
    pub record: GoalRecord,
    /// The run that it says was started.
    pub started: Option<Box<StartedRun>>,
}

/// A run that a backend started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartedRun {
    pub run: RunId,
    /// The path of its plan.
    pub path: String,
    pub sources: Vec<(String, String)>,
    /// Its resolved parameters.
    pub params: JsonObject,
    pub approved: RunApproval,
    /// The configuration that it runs under.
    pub config: Value,
    pub at: Moment,
}
