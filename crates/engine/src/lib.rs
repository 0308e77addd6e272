//! The local driver: feeds the machine from processes, timers and the store, and carries out its effects once the store has
//! its events.
//!
//! The rooms, each of which names only rooms below it:
//!
//! ```text
//! room       what it is                                                   what it names, besides `run` and `session`
//! backend    a run that a machine elsewhere decides about, and its copies all below except `proof` and `models`
//! dispatch   the loop of one run, and the units of work that it starts    all below except `models`
//! decisions  gates, approvers and planners                                agent nested files models memory
//! agent      the work of agents: calls, tools, programs                   attempt files models memory
//! proof      the checks of attempts and plans                             files models
//! attempt    the work of a step: processes, requests, the cache           nested files models
//! nested     runs inside a run                                            files reuse
//! files      copies, worktrees, views and evidence of results             reuse
//! models     the calls of models
//! memory     the advice for a run, and the records that it writes
//! run        one run, as all that works for it knows it                   reuse
//! session    the services and the state that the runs of a program share  reuse
//! reuse      the results that a run takes from one that it repeats
//! ```
//!
//! Two names lead back up. A nested run has a loop of its own inside the unit of the attempt it is (`nested::running`
//! names `dispatch`), and a run holds its agents at work (`run::context` names `agent`).
//!
//! Start at `dispatch`: its `units` name the room for each kind of work. Read `run` and `session` for the words, and the
//! other rooms when a unit leads there; the documentation of each says where to start.
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
pub use backend::{
    carried_state::CarriedState,
    family::{RunFamily, ended_run},
    nested_run::NestedRun,
    past_runs::PastRuns,
    remote::{BackendProgram, BackendRun, FromBackend, ToBackend, run_on},
    replica::{RunReplica, WorkInputs},
    retried_results::RetriedResults,
};
pub use decisions::asking::scope;
pub use dispatch::{
    begin::{cancel, resume, run, tidy},
    dispatcher::STOP_REASON,
    recovery::{GivenSecrets, recover, secrets_given},
};
pub use files::{
    kept::{outdated, unchanged},
    recorded_results::{
        EVIDENCE_EVENTS, RecordedResult, RecordedResults, artifacts_of_run, recorded_evidence, stale_now,
    },
};
pub use models::workspace::{ModelSurroundings, WorkspaceCall, WorkspaceModels};
pub use proof::reverify::{OutermostRun, Reverification, verify};
pub use run::recorded_config::{WORKTREE, WORKTREE_FOLDER, continue_lineage};
pub use session::{
    EngineError, EngineSession, FinishedRun, RunRequest,
    end::SuspendedRequest,
    engine_session::{ApproverSource, PlanReader, SharedState},
    hosts::{
        FutureClaim, FutureResult, RecordedAnswers, RecordedCalibrations, RecordedConversations,
        SharedLedgers, SharedResults, WorkClaim,
    },
    remote_workspace::{EarlierConversations, RemoteWorkspace},
    state_addition::StateAddition,
};
pub use wf_gateway::cassette::{Cassette, CassetteError, NO_RECORDED_REPLY, to_portable};
