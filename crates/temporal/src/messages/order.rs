//! The messages between a driver, a workflow and its workers. Large parts go by digest.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_core::machine::{ApprovalRequest, Attempt, Effect, Event, InputKind, RunApproval, RunOutcome};
use wf_engine::{NestedRun, RetriedResults, StateAddition};
use wf_model::JsonObject;
use wf_sign::approval::Approvers;

use crate::{
    files::{
        findings::FindingSource,
        objects::{ObjectError, Objects},
        tree::TreeRef,
    },
    locks::lock_claims::LockClaim,
};

pub use crate::files::parcel::{Parcel, RunFile};

/// The input of the workflow of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunOrder {
    pub run: RunId,
    /// The object with its [`RunSpec`].
    pub spec: Sha256Digest,
    /// The state it goes on with, after the history became too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Sha256Digest>,
}

/// The definition of a run, the same for its whole life.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    /// The version of the machine's rules it began with.
    pub logic_version: u32,
    /// The path of its plan, relative to the workspace.
    pub path: String,
    /// The texts it runs by: its own first.
    pub sources: Vec<(String, String)>,
    /// Its resolved parameters.
    pub params: JsonObject,
    pub approved: Option<RunApproval>,
    /// The configuration it runs under.
    pub config: Value,
    /// Its opening, which is recorded where it was started.
    #[serde(default)]
    pub opening: Vec<Event>,
    /// The results of the run it repeats.
    #[serde(default)]
    pub retried: RetriedResults,
    /// The object with the [`EarlierConversations`](wf_engine::EarlierConversations) its agents may continue, if there
    /// are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversations: Option<Sha256Digest>,
    /// The part of the state of its workspace going with it: the object with a
    /// [`CarriedState`](wf_engine::CarriedState).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Sha256Digest>,
    /// The path of the state of its workspace, relative to that if it is in there.
    #[serde(default)]
    pub state_folder: PathBuf,
    /// True if its workspace is the top folder of a git repository.
    #[serde(default)]
    pub is_repository: bool,
    /// The files of its workspace when it was started: the object with a [`Tree`](crate::files::tree::Tree).
    pub tree: Sha256Digest,
    /// The approvers whose answers count.
    pub approvers: Approvers,
    /// The task queues by their names in plans, with `default`.
    pub queues: BTreeMap<String, String>,
}

/// The object saying a run has begun. A server forgets ended runs; they must not begin again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BegunRunMark {
    pub begun: RunId,
}

/// Work for a run, as an activity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkOrder {
    pub outermost: RunId,
    /// The run of the work: that one, or one nested in it.
    pub run: RunId,
    /// The object with the [`RunSpec`] of the outermost run.
    pub spec: Sha256Digest,
    /// The files of their workspace.
    pub tree: TreeRef,
    /// Their log, as far as the work may rely on it.
    pub log: LogRef,
    pub job: Parcel,
    /// Its number in its workflow.
    pub key: u64,
}

/// The wanted work.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// To look at the workspace before anything runs in it.
    Begin,
    /// To carry out an effect of the machine.
    Effect(Box<Effect>),
    /// To end the attempt a nested run was.
    EndNested {
        /// The effect that began the attempt.
        effect: Box<Effect>,
        /// True if a limit ended the nested run.
        timed_out: bool,
    },
    /// To count the answers to a request for approval.
    Decide {
        ask: Box<ApprovalRequest>,
        /// The signed answers, as approvers gave them.
        tokens: Vec<String>,
    },
}

impl Job {
    /// Returns the attempt it is work for; `None`: it is for the run.
    pub fn attempt(&self) -> Option<Attempt> {
        match self {
            Self::Effect(effect) | Self::EndNested { effect, .. } => effect.attempt(),
            Self::Begin | Self::Decide { .. } => None,
        }
    }
}

/// The result of work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkReport {
    /// The inputs of the machine: a list of [`InputKind`].
    pub inputs: Parcel,
    /// The run beginning for the attempt: a [`NestedRunBeginning`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<Parcel>,
    /// The copy of the workspace it was done in, and what was found there.
    pub source: FindingSource,
    /// The files its attempt left in the folder of its run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RunFile>,
    /// The additions it made to the state: a list of [`StateAddition`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additions: Option<Parcel>,
    /// The task queue of the host where it was done.
    pub host: String,
    /// True if the work goes on there, and nobody waits for it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_left: bool,
    /// The time when the work ended, by the clock of the server; `None`: a worker of an earlier version did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Moment>,
}

/// A run beginning for an attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NestedRunBeginning {
    pub nested: NestedRun,
    /// The first input of its machine.
    pub input: InputKind,
}

/// The wish of a workflow about work it has told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkWish {
    /// It shall go on: there is no such work, or nothing is wanted of it.
    GoOn,
    /// It shall go on, and be reported at once: another workflow of the run will wait for it.
    Leave,
    /// It shall end.
    End,
    /// It shall end at once.
    Kill,
}

/// The content of a report.
pub struct OpenReport {
    /// The inputs of the machine.
    pub inputs: Vec<InputKind>,
    /// The run beginning for the attempt.
    pub nested: Option<NestedRunBeginning>,
    /// The copy of the workspace it was done in, and what was found there.
    pub source: FindingSource,
    /// The files its attempt left in the folder of its run.
    pub files: Vec<RunFile>,
    /// The additions it made to the state.
    pub additions: Vec<StateAddition>,
    /// The task queue of the host where it was done.
    pub host: String,
    /// True if the work goes on there, and nobody waits for it any more.
    pub is_left: bool,
    /// The time when the work ended, by the clock of the server.
    pub ended: Option<Moment>,
}

impl WorkReport {
    /// Unpacks the report, in the code of a workflow.
    pub fn open_now(self, objects: &Objects) -> Result<OpenReport, ObjectError> {
        let Self { inputs, nested, source, files, additions, host, is_left, ended } = self;
        let inputs = inputs.open_now(objects)?;
        let nested = nested.map(|nested| nested.open_now(objects)).transpose()?;
        let additions = additions.map(|additions| additions.open_now(objects)).transpose()?;
        let additions = additions.unwrap_or_default();
        Ok(OpenReport { inputs, nested, source, files, additions, host, is_left, ended })
    }
}

/// A log as far as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRef {
    /// The object with its last [`LogPage`].
    pub last: Option<Sha256Digest>,
    /// The number of its events.
    pub count: u64,
}

/// A part of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogPage {
    pub before: LogRef,
    /// The events, in order.
    pub entries: Vec<LogEntry>,
    /// The files of the runs that came with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RunFile>,
    /// The additions to the state that came before the last of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<StateAddition>,
}

/// An event in the log of a run and of those nested in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogEntry {
    /// The run, if it is nested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The nested run, with its first event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<Box<NestedRun>>,
    pub event: Event,
}

/// The answer of a workflow to whoever follows its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunNews {
    /// The log as far as it is stored.
    pub log: LogRef,
    pub rest: Parcel,
    /// The files of the workspace.
    pub tree: TreeRef,
    /// The outcome, once the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// True if it is over, and results of it are still to be kept for reuse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_keeping: bool,
    /// True if nothing happens until a person decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_waits_for_people: bool,
    /// The tasks waiting for a named lock another one has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<LockClaim>,
}

impl RunNews {
    /// Returns the name of the object with the last news of a run of a deployed goal: its workspace may want to know
    /// how the run went when the server has forgotten it.
    pub fn name(run: &RunId) -> String {
        format!("news/{run}")
    }
}

/// The events and files not stored as a page.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UnstoredLog {
    /// The events, in order.
    pub entries: Vec<LogEntry>,
    /// The files of the runs that came with them.
    pub files: Vec<RunFile>,
    /// The additions to the state that came with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<StateAddition>,
}

/// A signed answer to a request of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAnswer {
    /// The asking run.
    pub run: RunId,
    pub request: u32,
    /// The answer, signed.
    pub token: String,
}
