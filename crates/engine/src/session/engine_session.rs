//! The session of the engine, a request for a run in it, and the errors that leave a run to be resumed.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

use tokio::sync::watch;

use wf_base::{
    name::{RunId, SessionName},
    time::{Clock, Moment},
};
use wf_core::{
    machine::{InputKind, LogicMismatch, RunApproval},
    observe::RunObserver,
    permit::ParallelLimits,
};
use wf_exec::{
    HostEnv, ProcessExecutor, evidence::DigestMemo, http, originals::WorkspaceRepository,
    sandbox::SandboxFactory, secret::SharedRedactions,
};
use wf_gateway::{Gateway, cassette::Cassette};
use wf_model::{JsonObject, ModelTable, Plan};
use wf_sign::approval::Approvers;
use wf_store::{ReconciliationClaim, Store, StoreError, feed::MessageBus};

use super::{
    end::{LeftRunning, SuspendedRequest, SuspendedRuns},
    hosts::{RecordedAnswers, RecordedCalibrations, RecordedConversations, SharedLedgers, SharedResults},
    remote_workspace::RemoteWorkspace,
    state_addition::StateAddition,
    waiting::{LockWakeups, PermitWakeups},
};
use crate::reuse::RepeatedRun;

/// The services and settings that all runs of one program share.
pub struct EngineSession {
    /// The starter of processes. The first field, and so dropped first: the supervisor ends while
    /// the store writes its last.
    pub executor: ProcessExecutor,
    /// The store for events.
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    /// The workspace's root.
    pub root: PathBuf,
    /// The engine's own environment.
    pub host: Arc<HostEnv>,
    /// The maximum stored output of an attempt, in bytes.
    pub log_limit: u64,
    /// The reader of plans its runs make.
    pub plans: Box<dyn PlanReader>,
    /// The models of the workspace.
    pub models: Arc<ModelTable>,
    /// The git repository that the workspace is in, which shows files as they were; `None`: none.
    pub repository: Option<Arc<dyn WorkspaceRepository>>,
    /// The sandbox for checks, and for steps asking for it; `None`: none.
    pub sandboxes: Option<Arc<SandboxFactory>>,
    /// The bus for all durable events.
    pub bus: MessageBus,
    pub approvers: Box<dyn ApproverSource>,
    /// True if it stays while all runs only wait for approvals.
    pub stays: bool,
    /// True if cached results are reused.
    pub reuses: bool,
    /// True if memory learns preferences from decisions of people.
    pub learns_preferences: bool,
    pub observer: Mutex<Box<dyn RunObserver + Send>>,
    /// The state its runs share.
    pub shared: SharedState,
}

/// The source of the approvers of a workspace: their file may change while a run waits for them.
pub trait ApproverSource: Send + Sync {
    /// Returns the approvers whose answers count now.
    fn approvers(&self) -> Approvers;
}

/// The approvers of a run whose workspace is elsewhere, as its order names them.
impl ApproverSource for Approvers {
    fn approvers(&self) -> Approvers {
        self.clone()
    }
}

/// Reads plans that runs make, as a plan in a file is read.
pub trait PlanReader: Send + Sync {
    /// Parses, checks and lowers a text; the error has all mistakes, each in words. `path` is its path in the
    /// workspace, relative to which it uses others: only those the run was started with.
    fn read_plan(&self, path: &str, text: &str) -> Result<Arc<Plan>, Vec<String>>;
}

/// The state the runs of a session share in memory.
pub struct SharedState {
    /// The part of the engine's own environment every step sees.
    pub(crate) passed_env: HostEnv,
    pub(crate) client: http::HttpClient,
    pub(crate) redactions: SharedRedactions,
    pub(crate) locks: LockWakeups,
    pub(crate) permits: PermitWakeups,
    pub(crate) left: LeftRunning,
    pub(crate) memo: DigestMemo,
    pub(crate) suspended_runs: SuspendedRuns,
    /// True once its runs are to begin no further work, since their session of the workspace was suspended.
    pub(crate) drain: watch::Sender<bool>,
    /// The reason why the state cannot take what its runs need to go on, once there is one: they stop where they are.
    pub(crate) fault: OnceLock<StoreError>,
    /// The way to models, once one is called.
    pub(crate) gateway: OnceLock<Gateway>,
    /// The conversations of a repeated recorded run.
    pub(crate) conversations: OnceLock<RecordedConversations>,
    /// The state sent here with a run of a workspace elsewhere.
    pub(crate) remote: OnceLock<RemoteWorkspace>,
    /// The answers of people in a recorded run that is repeated.
    pub(crate) answers: OnceLock<Box<dyn RecordedAnswers>>,
    /// The knowledge of memory that agents of a recorded run were told, if it is repeated.
    pub(crate) calibrations: OnceLock<RecordedCalibrations>,
    /// Notes for the user, which no event has.
    pub(crate) notes: Mutex<Vec<String>>,
    /// The cassette that takes or answers the calls of models, if there is one.
    pub(crate) cassette: OnceLock<Arc<Cassette>>,
    /// The additions to the state, if somebody collects them.
    pub(crate) additions: Mutex<Option<Vec<StateAddition>>>,
    /// The ledgers, with the work of other hosts for its runs.
    pub(crate) ledgers: OnceLock<Arc<dyn SharedLedgers>>,
    /// The results for reuse shared by other hosts.
    pub(crate) results: OnceLock<Box<dyn SharedResults>>,
}

impl SharedState {
    /// Creates the state of a session where no run has begun. `pass` are globs of further variables of the engine's own
    /// environment a step may see.
    pub fn new(host: &HostEnv, pass: &[String]) -> Self {
        let passed_env = wf_exec::environment::passed_variables(host, pass);
        Self {
            client: http::HttpClient::new(&passed_env),
            redactions: SharedRedactions::default(),
            locks: LockWakeups::default(),
            permits: PermitWakeups::default(),
            left: LeftRunning::default(),
            memo: DigestMemo::default(),
            suspended_runs: SuspendedRuns::default(),
            drain: watch::Sender::new(false),
            fault: OnceLock::new(),
            gateway: OnceLock::new(),
            conversations: OnceLock::new(),
            remote: OnceLock::new(),
            answers: OnceLock::new(),
            calibrations: OnceLock::new(),
            notes: Mutex::default(),
            cassette: OnceLock::new(),
            additions: Mutex::default(),
            ledgers: OnceLock::new(),
            results: OnceLock::new(),
            passed_env,
        }
    }

    /// Returns the state, with limits on the steps executing at once.
    #[must_use]
    pub fn with_limits(mut self, limits: ParallelLimits) -> Self {
        self.permits.limits = limits;
        self
    }
}

/// A run to be begun.
pub struct RunRequest {
    pub run: RunId,
    pub plan: Arc<Plan>,
    /// The path of its spec, relative to the workspace.
    pub path: String,
    /// The texts it runs by: path and content, its own spec first.
    pub sources: Vec<(String, String)>,
    /// Its resolved parameters.
    pub params: JsonObject,
    /// The session of the workspace it belongs to.
    pub session: Option<SessionName>,
    /// The run it repeats, and the results reused from it.
    pub repeated_run: Option<RepeatedRun>,
    /// Its approval, if verified.
    pub approved: Option<RunApproval>,
    /// The configuration it runs under, for the record and for a resume.
    pub config: serde_json::Value,
    /// The claim on a goal it is begun for, if any.
    pub claim: Option<ReconciliationClaim>,
    /// The time when it was begun elsewhere; `None`: it begins here and now.
    pub begun: Option<Moment>,
    /// The files of the workspace tracked by git, for its checks to keep; `None`: not known, or of no matter.
    pub tracked: Option<BTreeSet<PathBuf>>,
}

/// The reason why a run cannot go on. Its record is whole, and it can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The state cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record was made under other rules.
    #[error(transparent)]
    Logic(#[from] LogicMismatch),
    /// The system refuses a need of the engine itself.
    #[error("cannot {doing}: {cause}")]
    System {
        /// The attempted operation.
        doing: &'static str,
        /// The error of the system.
        cause: String,
    },
    /// The supervisor died, and with it everything that was under way.
    #[error(transparent)]
    Lost(#[from] wf_exec::supervisor::SupervisorLost),
    /// A secret the run was given before cannot be read, so it could not be masked.
    #[error(transparent)]
    NoSecret(#[from] wf_exec::secret::SecretError),
    /// The workspace differs from the approved one.
    #[error("nothing was executed: {0}")]
    Unapproved(String),
    /// The run is suspended: it only waits for approvals.
    #[error("the run is waiting for an approval")]
    Parked {
        run: RunId,
        /// The pending approvals of the run and of those nested in it.
        requests: Vec<SuspendedRequest>,
    },
    /// The session the run belongs to was suspended: the run goes no further until it is resumed.
    #[error("session `{session}` was suspended")]
    SessionSuspended {
        run: RunId,
        session: SessionName,
        /// True if steps under way were interrupted; false if they have ended.
        is_interrupted: bool,
    },
    /// The program of a backend cannot follow the run, which goes on there.
    #[error("backend `{name}`: {reason}")]
    Backend {
        /// The backend.
        name: String,
        reason: String,
    },
    /// The program of a backend cannot start the run, of which nothing is recorded.
    #[error("backend `{name}`: {reason}")]
    Unstarted {
        /// The backend.
        name: String,
        reason: String,
    },
    /// The end was requested.
    #[error("cancelled by a signal (Ctrl-C / wf cancel)")]
    Cancelled,
    /// The machine waits and nothing can happen any more: a bug in wf.
    #[error("the run is stuck; this is a bug in wf")]
    Stuck,
}

/// The result of a unit of work.
pub(crate) type UnitResult = Result<Option<InputKind>, EngineError>;

impl EngineSession {
    /// Returns the error by which a report of the observer was lost, if one was.
    pub fn report_error(&self) -> Option<std::io::Error> {
        let mut lost = None;
        self.observe(|observer| lost = observer.write_error());
        lost
    }

    /// Adds a note for the user.
    pub(crate) fn add_note(&self, text: String) {
        self.shared.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(text);
    }

    /// Returns the notes for the user, each once.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Shows something to the observer.
    pub(crate) fn observe(&self, show: impl FnOnce(&mut dyn RunObserver)) {
        let mut observer = self.observer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        show(observer.as_mut());
    }

    /// Records all exchanges with models on a cassette, or answers all calls from it. The first one given counts.
    pub fn use_cassette(&self, cassette: Cassette) {
        let _ = self.shared.cassette.set(Arc::new(cassette));
    }

    /// Lets the runs of this session work for a workspace that is elsewhere.
    pub fn use_remote_workspace(&self, workspace: RemoteWorkspace) {
        let _ = self.shared.remote.set(workspace);
    }

    /// Has these ledgers decide about calls, as they do for the work of other hosts for the same runs.
    pub fn share_ledgers(&self, ledgers: Arc<dyn SharedLedgers>) {
        let _ = self.shared.ledgers.set(ledgers);
    }

    /// Finds results also among those shared by other hosts.
    pub fn share_results(&self, results: Box<dyn SharedResults>) {
        let _ = self.shared.results.set(results);
    }

    /// Lets the answers of a recorded run count, and none that is signed.
    pub fn use_recorded_answers(&self, recorded: Box<dyn RecordedAnswers>) {
        let _ = self.shared.answers.set(recorded);
    }

    /// Lets agents continue the conversations of a recorded run, and none of this workspace.
    pub fn use_recorded_conversations(&self, recorded: RecordedConversations) {
        let _ = self.shared.conversations.set(recorded);
    }

    /// Tells agents what memory knew in a recorded run, and nothing of this workspace.
    pub fn use_recorded_calibrations(&self, recorded: RecordedCalibrations) {
        let _ = self.shared.calibrations.set(recorded);
    }
}
