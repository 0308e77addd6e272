//! The state of a supervisor: the attempts under way, their output, and their outcomes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use tokio::{
    net::UnixStream,
    sync::{mpsc, watch},
};

use wf_base::{name::RunId, redact::SecretMask, time::Clock};
use wf_core::machine::WorkExit;

use super::{
    journal::{JournalLine, SupervisorJournal},
    message::{RunAttempt, SupervisorReply},
    subscription::{AttemptFollowers, AttemptHandle, AttemptSubscription},
};
use crate::{
    runtime::lock_mutex,
    secrets::secret::Redactions,
    work::attempt::{self, ProcessHooks, ProcessJob, ProcessOutcome},
    work_error::{StopLevel, WorkError},
};

/// The channel for attempts to be worked on; `None`: the state changed.
pub(super) type WorkSender = mpsc::UnboundedSender<Option<AcceptedJob>>;

/// The state of a supervisor.
pub(super) struct Supervisor {
    id: String,
    clock: Arc<dyn Clock>,
    state: Mutex<SupervisorState>,
}

struct SupervisorState {
    journal: SupervisorJournal,
    live: BTreeMap<RunAttempt, AttemptHandle>,
    sealed: BTreeSet<RunId>,
    marks: u64,
    /// The latest mask and its secrets, which attempts of a run share.
    mask: (Redactions, SecretMask),
    has_engine: bool,
    killed: bool,
    /// The connections waiting for the exit of this process.
    waiting_for_exit: Vec<UnixStream>,
}

/// An attempt to be worked on.
pub(super) struct AcceptedJob {
    attempt: RunAttempt,
    job: ProcessJob,
    hooks: ProcessHooks,
    followers: AttemptFollowers,
}

impl Supervisor {
    /// Creates a supervisor without work.
    pub(super) fn new(id: String, journal: SupervisorJournal, clock: Arc<dyn Clock>) -> Arc<Self> {
        let state = SupervisorState {
            journal,
            live: BTreeMap::new(),
            sealed: BTreeSet::new(),
            marks: 0,
            mask: (Redactions::default(), SecretMask::default()),
            has_engine: true,
            killed: false,
            waiting_for_exit: Vec::new(),
        };
        Arc::new(Self { id, clock, state: Mutex::new(state) })
    }

    /// Accepts an attempt and records its beginning; or returns the refusal.
    pub(super) fn accept(
        &self,
        attempt: RunAttempt,
        job: ProcessJob,
        show: bool,
    ) -> Result<(AcceptedJob, AttemptSubscription), SupervisorReply> {
        let mut state = lock_mutex(&self.state);
        // A request sent before the death of its engine may be read after it, when nobody waits for work any more.
        if !state.has_engine || state.sealed.contains(&attempt.run) || state.live.contains_key(&attempt) {
            return Err(SupervisorReply::Unknown);
        }
        state.marks += 1;
        let mark = format!("{}-{}", self.id, state.marks);
        let begins = JournalLine::Begins { task: attempt.clone(), mark: mark.clone() };
        if let Err(error) = state.journal.write_line(&begins) {
            let reason = format!("the supervisor cannot write its journal: {error}");
            let gone = ProcessOutcome::without(WorkError::environmental(reason));
            return Err(SupervisorReply::Gone(Box::new(gone)));
        }
        let (stop, heard) = watch::channel(StopLevel::No);
        let followers = AttemptFollowers::default();
        let live = AttemptHandle { stop, followers: followers.clone() };
        let following = live.follow(show);
        state.live.insert(attempt.clone(), live);
        if state.mask.0 != job.redactions {
            state.mask = (job.redactions.clone(), job.mask());
        }
        let hooks = ProcessHooks {
            mark,
            mask: state.mask.1.clone(),
            clock: Arc::clone(&self.clock),
            stop: heard,
            on_output: Some(followers.show()),
            on_start: None,
        };
        Ok((AcceptedJob { attempt, job, hooks, followers }, following))
    }

    /// Runs an attempt, records its outcome and notifies its followers.
    pub(super) async fn work(self: Arc<Self>, accepted: AcceptedJob) {
        let AcceptedJob { attempt: task, job, mut hooks, followers } = accepted;
        let (supervisor, about) = (Arc::clone(&self), task.clone());
        hooks.on_start = Some(Box::new(move |pid, start| {
            let task = about;
            // On failure, a later engine only knows less of the process if this supervisor dies.
            let _ = lock_mutex(&supervisor.state).journal.write_line(&JournalLine::Runs { task, pid, start });
        }));
        let mut gone = attempt::run(job, hooks).await;
        let mut state = lock_mutex(&self.state);
        if state.killed && gone.exit == WorkExit::Cancelled {
            gone.exit = WorkExit::Interrupted;
        }
        let ended = JournalLine::Ended { task: task.clone(), gone: gone.clone() };
        // If recording fails, followers still learn the outcome.
        let _ = state.journal.write_line(&ended);
        state.live.remove(&task);
        followers.send_outcome(&gone);
    }

    /// Follows an attempt under way.
    pub(super) fn follow(&self, attempt: &RunAttempt, shows: bool) -> Option<AttemptSubscription> {
        let state = lock_mutex(&self.state);
        state.live.get(attempt).map(|live| live.follow(shows))
    }

    /// Lets no attempt of a run begin any more.
    pub(super) fn seal(&self, run: RunId) {
        let mut state = lock_mutex(&self.state);
        state.sealed.insert(run);
    }

    /// Records that the run has ended: only work under way remains to be waited for.
    pub(super) fn conclude(&self, waits: UnixStream) {
        lock_mutex(&self.state).waiting_for_exit.push(waits);
    }

    /// Records the end of this supervisor's engine.
    pub(super) fn note_engine_gone(&self) {
        lock_mutex(&self.state).has_engine = false;
    }

    /// True if this supervisor's engine lives.
    pub(super) fn has_engine(&self) -> bool {
        lock_mutex(&self.state).has_engine
    }

    /// True if the run has ended.
    pub(super) fn is_concluded(&self) -> bool {
        !lock_mutex(&self.state).waiting_for_exit.is_empty()
    }

    /// Returns a mark for the next process tree.
    pub(super) fn mark(&self) -> String {
        let mut state = lock_mutex(&self.state);
        state.marks += 1;
        format!("{}-{}", self.id, state.marks)
    }

    /// Kills everything because the engine cannot continue; this is not a cancellation.
    pub(super) fn kill(&self) {
        let mut state = lock_mutex(&self.state);
        state.killed = true;
        for live in state.live.values() {
            live.stop.send_replace(StopLevel::AtOnce);
        }
    }
}
