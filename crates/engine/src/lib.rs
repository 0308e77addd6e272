//! The local driver: feeds the machine from processes, timers and the store, and carries out
//! its effects once the store has its events.
//!
//! One dispatcher per run owns the machine. It waits only for the next input and for the store;
//! everything else runs in async tasks that it owns and that end with it. A nested run has a
//! dispatcher of its own, inside the async task of the attempt that started it.
//!
//! **Invariant:** an effect is carried out only after the events of its turn are durable.
//! **Invariant:** no async task outlives the dispatcher that made it.

pub mod reuse;

mod agent;
mod attempt;
mod backend;
mod decisions;
mod dispatch;
mod files;
mod memory;
mod models;
mod nested;
mod proof;
mod run;
mod session;

pub use agent::conversations;
pub use backend::carried_state::CarriedState;
pub use backend::family::{RunFamily, ended_run};
pub use backend::nested_run::NestedRun;
pub use backend::past_runs::PastRuns;
pub use backend::remote::{BackendProgram, BackendRun, FromBackend, ToBackend, run_on};
pub use backend::replica::{RunReplica, WorkInputs};
pub use backend::retried_results::RetriedResults;
pub use decisions::asking::scope;
pub use dispatch::begin::{cancel, resume, run, tidy};
pub use dispatch::dispatcher::STOP_REASON;
pub use dispatch::recovery::{GivenSecrets, recover, secrets_given};
pub use files::kept::{outdated, unchanged};
pub use files::recorded_results::{
    EVIDENCE_EVENTS, RecordedResult, RecordedResults, artifacts_of_run, recorded_evidence, stale_now,
};
pub use models::workspace::{ModelSurroundings, WorkspaceCall, WorkspaceModels};
pub use proof::reverify::{OutermostRun, Reverification, verify};
pub use run::recorded_config::{WORKTREE, WORKTREE_FOLDER, continue_lineage};
pub use session::engine_session::{PlanReader, SharedState};
pub use session::hosts::{FutureClaim, FutureResult, SharedLedgers, SharedResults, WorkClaim};
pub use session::recorded::{RecordedAnswers, RecordedCalibrations, RecordedConversations};
pub use session::remote_workspace::{EarlierConversations, RemoteWorkspace};
pub use session::state_addition::StateAddition;
pub use session::suspend::SuspendedRequest;
pub use session::{EngineError, EngineSession, FinishedRun, RunRequest};
pub use wf_gateway::cassette::{Cassette, CassetteError, NO_RECORDED_REPLY, to_portable};
