use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::approval::Approvers;
use crate::bus::Bus;
use crate::exec::evidence::Memo;
use crate::exec::sandbox::Around;
use crate::exec::secret::Everybodys;
use crate::exec::{Hands, Host, http};
use crate::machine::{Approved, Criteria, OtherLogic, Outcome, Stale, Standing, Tally};
use crate::model::{Object, Plan};
use crate::name::{Name, RunId};
use crate::repeat::Past;
use crate::store::{Claim, Store, StoreError};
use crate::time::Clock;

use super::Observer;
use super::locks::Locks;
use super::parking::{Parking, Question};

/// What every run of one program shares.
pub struct Session {
    /// Who starts processes. The first field, and so dropped first: the keeper ends while the store
    /// writes its last.
    pub hands: Hands,
    /// Where events go.
    pub store: Store,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The workspace's root.
    pub root: PathBuf,
    /// The engine's own environment.
    pub host: Arc<Host>,
    /// What every step sees of it.
    pub(super) passed: Host,
    /// How much output of an attempt is kept, in bytes.
    pub log_limit: u64,
    /// What confines checks, and steps that ask for it; `None`: nothing.
    pub around: Option<Arc<Around>>,
    /// Where everything that became durable is told.
    pub bus: Bus,
    /// Whose answers count where people are asked.
    pub approvers: Approvers,
    /// Whether it stays while runs have nothing to do but to wait for people.
    pub stays: bool,
    /// Whether results of the cache are used.
    pub reuses: bool,
    /// Follows the runs.
    pub observer: Mutex<Box<dyn Observer + Send>>,
    pub(super) client: http::Client,
    pub(super) secrets: Everybodys,
    pub(super) locks: Locks,
    pub(super) memo: Memo,
    pub(super) parking: Parking,
}

/// What a [`Session`] is made of.
pub struct Ground {
    /// Where events go.
    pub store: Store,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The workspace's root.
    pub root: PathBuf,
    /// The engine's own environment.
    pub host: Host,
    /// Globs of further names that a step may see of it.
    pub pass: Vec<String>,
    /// How much output of an attempt is kept, in bytes.
    pub log_limit: u64,
    /// Who starts processes.
    pub hands: Hands,
    /// What confines checks, and steps that ask for it; `None`: nothing.
    pub around: Option<Arc<Around>>,
    /// Where everything that became durable is told.
    pub bus: Bus,
    /// Whose answers count where people are asked.
    pub approvers: Approvers,
    /// Whether it stays while runs have nothing to do but to wait for people.
    pub stays: bool,
    /// Whether results of the cache are used.
    pub reuses: bool,
    /// Follows the runs.
    pub observer: Box<dyn Observer + Send>,
}

/// A run to be begun.
pub struct Request {
    /// Its id.
    pub run: RunId,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// The path of its spec, relative to the workspace.
    pub path: String,
    /// The texts that it runs by: path and content, its own spec first.
    pub sources: Vec<(String, String)>,
    /// Its resolved parameters.
    pub params: Object,
    /// The run that it repeats, and what it takes over of it.
    pub past: Option<Past>,
    /// Who approved it, if that was verified.
    pub approved: Option<Approved>,
    /// The configuration it runs under, for the record and for a resume.
    pub config: serde_json::Value,
    /// What of a goal it is begun for, if it is.
    pub claim: Option<Claim>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Which.
    pub run: RunId,
    /// How.
    pub outcome: Outcome,
    /// Why; empty for success.
    pub why: String,
    /// The first step that failed.
    pub failed: Option<Name>,
    /// How far its result is believed.
    pub standing: Standing,
    /// How its steps ended.
    pub tally: Tally,
    /// The places whose evidence is stale.
    pub stale: Vec<Stale>,
    /// Its outputs.
    pub outputs: Object,
    /// How many criteria hold, if the result was accepted with less than all.
    pub accepted: Option<Criteria>,
}

/// Why a run cannot go on. Its record is whole, and it can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The state cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record was made by other rules.
    #[error(transparent)]
    Logic(#[from] OtherLogic),
    /// The system refuses what the engine itself needs.
    #[error("cannot {doing}: {cause}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// The system's words.
        cause: String,
    },
    /// The process died that keeps all others, and with it everything that was under way.
    #[error(transparent)]
    Lost(#[from] crate::exec::keeper::Lost),
    /// What the run was given before cannot be read, so it could not be hidden.
    #[error(transparent)]
    NoSecret(#[from] crate::exec::secret::BadSecret),
    /// The workspace is not what was approved.
    #[error("nothing was executed: {0}")]
    Unapproved(String),
    /// It has nothing to do but to wait for people.
    #[error("the run waits for an approval")]
    Parked {
        /// The run.
        run: RunId,
        /// What they are asked, by it and by those nested in it.
        questions: Vec<Question>,
    },
    /// Somebody asked for the end.
    #[error("told to end")]
    Told,
    /// The machine waits and nothing can happen any more: a mistake in wf.
    #[error("the run is stuck; this is a mistake in wf")]
    Stuck,
}

impl Session {
    /// Opens a session.
    pub fn new(ground: Ground) -> Arc<Self> {
        let passed = crate::exec::environment::passed(&ground.host, &ground.pass);
        Arc::new(Self {
            client: http::Client::new(&passed),
            secrets: Everybodys::default(),
            locks: Locks::default(),
            memo: Memo::default(),
            parking: Parking::default(),
            store: ground.store,
            clock: ground.clock,
            root: ground.root,
            host: Arc::new(ground.host),
            passed,
            log_limit: ground.log_limit,
            hands: ground.hands,
            around: ground.around,
            approvers: ground.approvers,
            stays: ground.stays,
            reuses: ground.reuses,
            bus: ground.bus,
            observer: Mutex::new(ground.observer),
        })
    }

    /// Why something that the observer should have told is lost, if it is.
    pub fn lost(&self) -> Option<std::io::Error> {
        let mut lost = None;
        self.observe(|observer| lost = observer.lost());
        lost
    }

    /// Lets the observer see something.
    pub(super) fn observe(&self, show: impl FnOnce(&mut dyn Observer)) {
        let mut observer = self
            .observer
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        show(observer.as_mut());
    }
}
