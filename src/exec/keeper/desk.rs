use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};

use super::journal::{Journal, Note};
use super::message::{Answer, Task};
use crate::exec::attempt::{self, Gone, Job, Ties};
use crate::exec::log::Stream;
use crate::exec::secret::Hidden;
use crate::exec::{OnOutput, Stop, Unable};
use crate::machine::Exit;
use crate::mask::Mask;
use crate::name::RunId;
use crate::time::Clock;

/// How many pieces of output wait for an engine that reads slowly; what comes then is only in
/// the log.
const WAITING: usize = 64;

/// What a keeper does and knows.
pub(super) struct Desk {
    id: String,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    journal: Journal,
    live: BTreeMap<Task, Live>,
    sealed: BTreeSet<RunId>,
    marks: u64,
    /// The last mask that was made, and of what: attempts of a run have the same secrets.
    mask: (Vec<Hidden>, Mask),
    attended: bool,
    began: bool,
    killed: bool,
    /// Those who wait for the end of this process.
    concluding: Vec<UnixStream>,
}

/// An attempt under way.
struct Live {
    stop: watch::Sender<Stop>,
    followers: Followers,
}

/// Those who wait for the end of an attempt.
type Followers = Arc<Mutex<Vec<Follower>>>;

struct Follower {
    shown: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
    ended: oneshot::Sender<Gone>,
}

/// An attempt that was accepted and is to be worked on.
pub(super) struct Accepted {
    task: Task,
    job: Job,
    ties: Ties,
    followers: Followers,
}

/// How an attempt is followed from a connection.
pub(super) struct Following {
    /// What it prints, if that is shown.
    pub(super) shown: mpsc::Receiver<(Stream, Vec<u8>)>,
    /// How it ends.
    pub(super) ended: oneshot::Receiver<Gone>,
    /// How it is told to.
    pub(super) stop: watch::Sender<Stop>,
}

impl Desk {
    /// A desk without work.
    pub(super) fn new(id: String, journal: Journal, clock: Arc<dyn Clock>) -> Arc<Self> {
        let state = State {
            journal,
            live: BTreeMap::new(),
            sealed: BTreeSet::new(),
            marks: 0,
            mask: (Vec::new(), Mask::default()),
            attended: true,
            began: false,
            killed: false,
            concluding: Vec::new(),
        };
        Arc::new(Self {
            id,
            clock,
            state: Mutex::new(state),
        })
    }

    /// Accepts an attempt and notes that it begins; or says why not.
    pub(super) fn accept(
        &self,
        task: Task,
        job: Job,
        shows: bool,
    ) -> Result<(Accepted, Following), Answer> {
        let mark = self.mark();
        let mut state = self.state();
        if state.sealed.contains(&task.run) || state.live.contains_key(&task) {
            return Err(Answer::Unknown);
        }
        let begins = Note::Begins {
            task: task.clone(),
            mark: mark.clone(),
        };
        if let Err(error) = state.journal.note(&begins) {
            let why = format!("the keeper cannot write its journal: {error}");
            let gone = Gone::without(Unable::environmental(why));
            return Err(Answer::Gone(Box::new(gone)));
        }
        state.began = true;
        let (stop, heard) = watch::channel(Stop::No);
        let followers = Followers::default();
        let live = Live {
            stop,
            followers: Arc::clone(&followers),
        };
        let following = live.follow(shows);
        state.live.insert(task.clone(), live);
        if state.mask.0 != job.secrets {
            state.mask = (job.secrets.clone(), job.mask());
        }
        let ties = Ties {
            mark,
            mask: state.mask.1.clone(),
            clock: Arc::clone(&self.clock),
            stop: heard,
            on_output: Some(shown(&followers)),
            on_start: None,
        };
        let accepted = Accepted {
            task,
            job,
            ties,
            followers,
        };
        Ok((accepted, following))
    }

    /// Does the work of an attempt, notes how it ended and tells everybody.
    pub(super) async fn work(self: Arc<Self>, accepted: Accepted) {
        let Accepted {
            task,
            job,
            mut ties,
            followers,
        } = accepted;
        let (desk, about) = (Arc::clone(&self), task.clone());
        ties.on_start = Some(Box::new(move |pid, start| {
            let task = about;
            // Without this line a later engine knows less of a process whose keeper died.
            let _ = desk.state().journal.note(&Note::Runs { task, pid, start });
        }));
        let mut gone = attempt::run(job, ties).await;
        let mut state = self.state();
        if state.killed && gone.exit == Exit::Cancelled {
            gone.exit = Exit::Interrupted;
        }
        let ended = Note::Ended {
            task: task.clone(),
            gone: gone.clone(),
        };
        // If it cannot be noted, those who listen still learn it.
        let _ = state.journal.note(&ended);
        state.live.remove(&task);
        drop(state);
        for follower in lock(&followers).drain(..) {
            let _ = follower.ended.send(gone.clone());
        }
    }

    /// Follows an attempt that is under way.
    pub(super) fn follow(&self, task: &Task, shows: bool) -> Option<Following> {
        let state = self.state();
        state.live.get(task).map(|live| live.follow(shows))
    }

    /// Begins nothing of a run any more.
    pub(super) fn seal(&self, run: RunId) {
        self.state().sealed.insert(run);
    }

    /// The run has ended: there is nothing more to wait for than what is under way.
    pub(super) fn conclude(&self, waits: UnixStream) {
        self.state().concluding.push(waits);
    }

    /// The engine that started this keeper is gone.
    pub(super) fn left_alone(&self) {
        self.state().attended = false;
    }

    /// Whether the engine that started this keeper lives.
    pub(super) fn is_attended(&self) -> bool {
        self.state().attended
    }

    /// Whether no attempt was ever begun, so that nobody will ask.
    pub(super) fn is_idle(&self) -> bool {
        !self.state().began
    }

    /// Whether the run has ended.
    pub(super) fn is_concluded(&self) -> bool {
        !self.state().concluding.is_empty()
    }

    /// A mark for the next tree.
    pub(super) fn mark(&self) -> String {
        let mut state = self.state();
        state.marks += 1;
        format!("{}-{}", self.id, state.marks)
    }

    /// Ends everything at once, because the engine cannot go on: nobody cancelled it.
    pub(super) fn kill(&self) {
        let mut state = self.state();
        state.killed = true;
        for live in state.live.values() {
            live.stop.send_replace(Stop::AtOnce);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Live {
    fn follow(&self, shows: bool) -> Following {
        let (to, shown) = mpsc::channel(WAITING);
        let (end, ended) = oneshot::channel();
        lock(&self.followers).push(Follower {
            shown: shows.then_some(to),
            ended: end,
        });
        Following {
            shown,
            ended,
            stop: self.stop.clone(),
        }
    }
}

/// Shows output to those who want to see it and have room for it.
fn shown(followers: &Followers) -> OnOutput {
    let followers = Arc::clone(followers);
    Box::new(move |stream, bytes| {
        for follower in lock(&followers).iter() {
            if let Some(to) = &follower.shown {
                let _ = to.try_send((stream, bytes.to_vec()));
            }
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
