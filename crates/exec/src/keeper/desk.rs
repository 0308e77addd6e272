use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};

use super::follow::{AttemptFollowers, AttemptHandle, AttemptSubscription};
use super::journal::{JournalLine, SupervisorJournal};
use super::message::{RunAttempt, SupervisorReply};
use super::pool::{ArrivalDecision, AttemptPool, CapacityClaim, PoolDecision};
use crate::attempt::{self, ProcessHooks, ProcessJob, ProcessOutcome};
use crate::secret::SecretText;
use crate::{StopLevel, WorkError};
use wf_base::name::RunId;
use wf_base::redact::SecretMask;
use wf_base::time::Clock;
use wf_core::machine::WorkExit;

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
    /// The attempts that wait for room, by run.
    pools: BTreeMap<RunId, AttemptPool<QueuedAttempt>>,
    sealed: BTreeSet<RunId>,
    marks: u64,
    /// The latest mask and its secrets, which attempts of a run share.
    mask: (Vec<SecretText>, SecretMask),
    has_engine: bool,
    killed: bool,
    /// The connections that wait for the exit of this process.
    waiting_for_exit: Vec<UnixStream>,
}

/// A request for an attempt.
pub(super) struct AttemptRequest {
    pub(super) task: RunAttempt,
    pub(super) job: ProcessJob,
    pub(super) show: bool,
    pub(super) seat: Option<CapacityClaim>,
}

/// An attempt that was requested and has not begun.
struct QueuedAttempt {
    task: RunAttempt,
    job: ProcessJob,
    /// True if it is counted.
    is_counted: bool,
    stop: watch::Receiver<StopLevel>,
    live: AttemptHandle,
    /// Notified when it begins, if it is staged.
    on_start: Option<oneshot::Sender<()>>,
}

/// An attempt to be worked on.
pub(super) struct AcceptedJob {
    task: RunAttempt,
    job: ProcessJob,
    is_counted: bool,
    hooks: ProcessHooks,
    followers: AttemptFollowers,
}

impl Supervisor {
    /// Creates a desk without work.
    pub(super) fn new(id: String, journal: SupervisorJournal, clock: Arc<dyn Clock>) -> Arc<Self> {
        let state = SupervisorState {
            journal,
            live: BTreeMap::new(),
            pools: BTreeMap::new(),
            sealed: BTreeSet::new(),
            marks: 0,
            mask: (Vec::new(), SecretMask::default()),
            has_engine: true,
            killed: false,
            waiting_for_exit: Vec::new(),
        };
        Arc::new(Self { id, clock, state: Mutex::new(state) })
    }

    /// Accepts an attempt, which begins unless it has to wait; or returns the refusal.
    pub(super) fn accept(
        &self,
        asked: AttemptRequest,
    ) -> Result<(Option<AcceptedJob>, AttemptSubscription), SupervisorReply> {
        let AttemptRequest { task, job, show, seat } = asked;
        let mut state = self.state();
        if state.sealed.contains(&task.run) || state.live.contains_key(&task) {
            return Err(SupervisorReply::Unknown);
        }
        let (stop, heard) = watch::channel(StopLevel::No);
        let followers = AttemptFollowers::default();
        let live = AttemptHandle { stop, followers };
        let mut following = live.follow(show);
        let mut entry =
            QueuedAttempt { task, job, is_counted: seat.is_some(), stop: heard, live, on_start: None };
        let Some(seat) = seat else {
            return Ok((Some(self.begin(&mut state, entry)?), following));
        };
        if seat.staged.is_some() {
            // A request sent before the death of its engine may be read after it.
            if !state.has_engine || state.killed {
                return Err(SupervisorReply::Unstaged);
            }
            let (tell, begun) = oneshot::channel();
            (entry.on_start, following.started) = (Some(tell), Some(begun));
        }
        let pool = state.pools.entry(entry.task.run.clone()).or_default();
        let task = entry.task.clone();
        match pool.arrives(&task, seat, entry) {
            ArrivalDecision::Begins(entry) => Ok((Some(self.begin(&mut state, entry)?), following)),
            ArrivalDecision::Waits => Ok((None, following)),
            ArrivalDecision::Refused => Err(SupervisorReply::Unstaged),
        }
    }

    /// Records the beginning of an attempt.
    fn begin(
        &self,
        state: &mut SupervisorState,
        entry: QueuedAttempt,
    ) -> Result<AcceptedJob, SupervisorReply> {
        let QueuedAttempt { task, job, is_counted: seated, stop: heard, live, on_start: begun } = entry;
        state.marks += 1;
        let mark = format!("{}-{}", self.id, state.marks);
        let begins = JournalLine::Begins { task: task.clone(), mark: mark.clone() };
        if let Err(error) = state.journal.note(&begins) {
            if let Some(pool) = state.pools.get_mut(&task.run).filter(|_| seated) {
                pool.ended(false);
            }
            let reason = format!("the supervisor cannot write its journal: {error}");
            let gone = ProcessOutcome::without(WorkError::environmental(reason));
            return Err(SupervisorReply::Gone(Box::new(gone)));
        }
        let followers = live.followers.clone();
        state.live.insert(task.clone(), live);
        if state.mask.0 != job.secrets {
            state.mask = (job.secrets.clone(), job.mask());
        }
        if let Some(tell) = begun {
            let _ = tell.send(());
        }
        let ties = ProcessHooks {
            mark,
            mask: state.mask.1.clone(),
            clock: Arc::clone(&self.clock),
            stop: heard,
            on_output: Some(followers.show()),
            on_start: None,
        };
        Ok(AcceptedJob { task, job, is_counted: seated, hooks: ties, followers })
    }

    /// Runs an attempt, then the next of those that its end lets begin.
    pub(super) async fn work(self: Arc<Self>, accepted: AcceptedJob, more: &WorkSender) {
        let mut next = Some(accepted);
        while let Some(accepted) = next.take() {
            let mut begin = self.run_attempt(accepted).await.into_iter();
            next = begin.next();
            begin.for_each(|accepted| drop(more.send(Some(accepted))));
        }
    }

    /// Runs an attempt, records its outcome and notifies its followers. Returns the attempts that
    /// its end lets begin.
    async fn run_attempt(self: &Arc<Self>, accepted: AcceptedJob) -> Vec<AcceptedJob> {
        let AcceptedJob { task, job, is_counted: seated, hooks: mut ties, followers } = accepted;
        let (desk, about) = (Arc::clone(self), task.clone());
        ties.on_start = Some(Box::new(move |pid, start| {
            let task = about;
            // On failure, a later engine only knows less of the process if this supervisor dies.
            let _ = desk.state().journal.note(&JournalLine::Runs { task, pid, start });
        }));
        let mut gone = attempt::run(job, ties).await;
        let mut state = self.state();
        if state.killed && gone.exit == WorkExit::Cancelled {
            gone.exit = WorkExit::Interrupted;
        }
        let ended = JournalLine::Ended { task: task.clone(), gone: gone.clone() };
        // If recording fails, followers still learn the outcome.
        let _ = state.journal.note(&ended);
        state.live.remove(&task);
        let well = gone.is_plainly_well();
        followers.send_outcome(&gone);
        if seated { self.make_room(&mut state, &task.run, well) } else { Vec::new() }
    }

    /// Frees the room of a counted attempt: lets waiting ones begin, or refuses them.
    fn make_room(&self, state: &mut SupervisorState, run: &RunId, well: bool) -> Vec<AcceptedJob> {
        let Some(pool) = state.pools.get_mut(run) else {
            return Vec::new();
        };
        // Refused attempts learn it by their dropped channels.
        let PoolDecision::Begin(entries) = pool.ended(well) else {
            return Vec::new();
        };
        let begin = entries.into_iter().filter_map(|entry| {
            let followers = entry.live.followers.clone();
            match self.begin(state, entry) {
                Ok(accepted) => Some(accepted),
                Err(SupervisorReply::Gone(gone)) => {
                    followers.send_outcome(&gone);
                    None
                }
                Err(_) => None,
            }
        });
        begin.collect()
    }

    /// Withdraws an attempt that has not begun; false if it has.
    pub(super) fn take_back(&self, task: &RunAttempt) -> bool {
        let mut state = self.state();
        let pool = state.pools.get_mut(&task.run);
        pool.and_then(|pool| pool.withdraw(task)).is_some()
    }

    /// Follows an attempt that is under way.
    pub(super) fn follow(&self, task: &RunAttempt, shows: bool) -> Option<AttemptSubscription> {
        let state = self.state();
        state.live.get(task).map(|live| live.follow(shows))
    }

    /// Lets no attempt of a run begin any more.
    pub(super) fn seal(&self, run: RunId) {
        let mut state = self.state();
        state.pools.remove(&run);
        state.sealed.insert(run);
    }

    /// Records that the run has ended: only work under way remains to be waited for.
    pub(super) fn conclude(&self, waits: UnixStream) {
        self.state().waiting_for_exit.push(waits);
    }

    /// Records that the engine that started this supervisor is gone.
    pub(super) fn note_engine_gone(&self) {
        let mut state = self.state();
        state.has_engine = false;
        // Without an engine nothing more may begin.
        state.pools.clear();
    }

    /// True if the engine that started this supervisor lives.
    pub(super) fn has_engine(&self) -> bool {
        self.state().has_engine
    }

    /// True if the run has ended.
    pub(super) fn is_concluded(&self) -> bool {
        !self.state().waiting_for_exit.is_empty()
    }

    /// Returns a mark for the next process tree.
    pub(super) fn mark(&self) -> String {
        let mut state = self.state();
        state.marks += 1;
        format!("{}-{}", self.id, state.marks)
    }

    /// Kills everything because the engine cannot continue; this is not a cancellation.
    pub(super) fn kill(&self) {
        let mut state = self.state();
        state.killed = true;
        state.pools.clear();
        for live in state.live.values() {
            live.stop.send_replace(StopLevel::AtOnce);
        }
    }

    fn state(&self) -> MutexGuard<'_, SupervisorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{AttemptRequest, CapacityClaim, RunAttempt, Supervisor, SupervisorJournal, SupervisorReply};
    use crate::attempt::ProcessJob;
    use crate::process::ProcessCommand;
    use wf_base::name::{Name, RunId};
    use wf_base::time::SystemClock;
    use wf_core::machine::{Attempt, TaskId};

    fn asked(dir: &std::path::Path, step: &str, staged: bool) -> AttemptRequest {
        let place = TaskId::of_step(&Name::parse(step).unwrap());
        let command = ProcessCommand {
            argv: vec!["true".into()],
            env: Vec::new(),
            cwd: dir.into(),
            sandbox: None,
            pins: None,
            input: None,
        };
        AttemptRequest {
            task: RunAttempt { run: RunId::from_bytes([7; 16]), attempt: Attempt { place, attempt: 1 } },
            job: ProcessJob {
                command,
                timeout: None,
                grace: Duration::ZERO,
                log: dir.join("log"),
                limit: 1,
                most: None,
                output: dir.join("out"),
                secrets: Vec::new(),
            },
            show: false,
            seat: Some(CapacityClaim {
                room: 1,
                staged: staged.then_some(1),
                bad_ends: 0,
                let_begin: 1,
                lost: 0,
            }),
        }
    }

    #[test]
    fn nothing_that_is_staged_begins_once_the_engine_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let journal = SupervisorJournal::open(&dir.path().join("journal")).unwrap();
        let desk = Supervisor::new("k".into(), journal, Arc::new(SystemClock));
        let (first, _) = desk.accept(asked(dir.path(), "a", false)).unwrap();
        assert!(first.is_some());
        let (waits, mut following) = desk.accept(asked(dir.path(), "b", true)).unwrap();
        assert!(waits.is_none());
        desk.note_engine_gone();
        let begun = following.started.as_mut().unwrap().try_recv();
        assert!(begun.is_err());
        // A request sent before may be read after.
        let late = desk.accept(asked(dir.path(), "c", true));
        assert!(matches!(late, Err(SupervisorReply::Unstaged)));
    }
}
