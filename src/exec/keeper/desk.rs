use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};

use super::follow::{Followers, Following, Live};
use super::journal::{Journal, Note};
use super::message::{Answer, Task};
use super::pool::{Arrival, Next, Pool, Seat};
use crate::exec::attempt::{self, Gone, Job, Ties};
use crate::exec::secret::Hidden;
use crate::exec::{Stop, Unable};
use crate::machine::Exit;
use crate::mask::Mask;
use crate::name::RunId;
use crate::time::Clock;

/// Where attempts go that are to be worked on; `None`: something changed.
pub(super) type Work = mpsc::UnboundedSender<Option<Accepted>>;

/// What a keeper does and knows.
pub(super) struct Desk {
    id: String,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    journal: Journal,
    live: BTreeMap<Task, Live>,
    /// Who waits for room, run by run.
    pools: BTreeMap<RunId, Pool<Entry>>,
    sealed: BTreeSet<RunId>,
    marks: u64,
    /// The last mask that was made, and of what: attempts of a run have the same secrets.
    mask: (Vec<Hidden>, Mask),
    attended: bool,
    killed: bool,
    /// Those who wait for the end of this process.
    concluding: Vec<UnixStream>,
}

/// What is asked for.
pub(super) struct Asked {
    pub(super) task: Task,
    pub(super) job: Job,
    pub(super) show: bool,
    pub(super) seat: Option<Seat>,
}

/// An attempt that was asked for and has not begun.
struct Entry {
    task: Task,
    job: Job,
    /// Whether it is counted.
    seated: bool,
    heard: watch::Receiver<Stop>,
    live: Live,
    /// Who is told that it began, if it is staged.
    begun: Option<oneshot::Sender<()>>,
}

/// An attempt that is to be worked on.
pub(super) struct Accepted {
    task: Task,
    job: Job,
    seated: bool,
    ties: Ties,
    followers: Followers,
}

impl Desk {
    /// A desk without work.
    pub(super) fn new(id: String, journal: Journal, clock: Arc<dyn Clock>) -> Arc<Self> {
        let state = State {
            journal,
            live: BTreeMap::new(),
            pools: BTreeMap::new(),
            sealed: BTreeSet::new(),
            marks: 0,
            mask: (Vec::new(), Mask::default()),
            attended: true,
            killed: false,
            concluding: Vec::new(),
        };
        Arc::new(Self {
            id,
            clock,
            state: Mutex::new(state),
        })
    }

    /// Accepts an attempt, and lets it begin unless it waits; or says why not.
    pub(super) fn accept(&self, asked: Asked) -> Result<(Option<Accepted>, Following), Answer> {
        let Asked {
            task,
            job,
            show,
            seat,
        } = asked;
        let mut state = self.state();
        if state.sealed.contains(&task.run) || state.live.contains_key(&task) {
            return Err(Answer::Unknown);
        }
        let (stop, heard) = watch::channel(Stop::No);
        let followers = Followers::default();
        let live = Live { stop, followers };
        let mut following = live.follow(show);
        let mut entry = Entry {
            task,
            job,
            seated: seat.is_some(),
            heard,
            live,
            begun: None,
        };
        let Some(seat) = seat else {
            return Ok((Some(self.begin(&mut state, entry)?), following));
        };
        if seat.staged.is_some() {
            // What was sent before its engine died is read after.
            if !state.attended || state.killed {
                return Err(Answer::Unstaged);
            }
            let (tell, begun) = oneshot::channel();
            (entry.begun, following.begun) = (Some(tell), Some(begun));
        }
        let pool = state.pools.entry(entry.task.run.clone()).or_default();
        let task = entry.task.clone();
        match pool.arrives(&task, seat, entry) {
            Arrival::Begins(entry) => Ok((Some(self.begin(&mut state, entry)?), following)),
            Arrival::Waits => Ok((None, following)),
            Arrival::Refused => Err(Answer::Unstaged),
        }
    }

    /// Notes that an attempt begins.
    fn begin(&self, state: &mut State, entry: Entry) -> Result<Accepted, Answer> {
        let Entry {
            task,
            job,
            seated,
            heard,
            live,
            begun,
        } = entry;
        state.marks += 1;
        let mark = format!("{}-{}", self.id, state.marks);
        let begins = Note::Begins {
            task: task.clone(),
            mark: mark.clone(),
        };
        if let Err(error) = state.journal.note(&begins) {
            if let Some(pool) = state.pools.get_mut(&task.run).filter(|_| seated) {
                pool.ended(false);
            }
            let why = format!("the keeper cannot write its journal: {error}");
            let gone = Gone::without(Unable::environmental(why));
            return Err(Answer::Gone(Box::new(gone)));
        }
        let followers = live.followers.clone();
        state.live.insert(task.clone(), live);
        if state.mask.0 != job.secrets {
            state.mask = (job.secrets.clone(), job.mask());
        }
        if let Some(tell) = begun {
            let _ = tell.send(());
        }
        let ties = Ties {
            mark,
            mask: state.mask.1.clone(),
            clock: Arc::clone(&self.clock),
            stop: heard,
            on_output: Some(followers.show()),
            on_start: None,
        };
        Ok(Accepted {
            task,
            job,
            seated,
            ties,
            followers,
        })
    }

    /// Does the work of an attempt, and then that of those whose turn comes with its end.
    pub(super) async fn work(self: Arc<Self>, accepted: Accepted, more: &Work) {
        let mut next = Some(accepted);
        while let Some(accepted) = next.take() {
            let mut begin = self.work_on(accepted).await.into_iter();
            next = begin.next();
            begin.for_each(|accepted| drop(more.send(Some(accepted))));
        }
    }

    /// Does the work of an attempt, notes how it ended and tells everybody. Gives what begins
    /// with its end.
    async fn work_on(self: &Arc<Self>, accepted: Accepted) -> Vec<Accepted> {
        let Accepted {
            task,
            job,
            seated,
            mut ties,
            followers,
        } = accepted;
        let (desk, about) = (Arc::clone(self), task.clone());
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
        let well = gone.is_plainly_well();
        followers.tell(&gone);
        if seated {
            self.make_room(&mut state, &task.run, well)
        } else {
            Vec::new()
        }
    }

    /// An attempt that was counted has ended: lets others begin, or refuses them.
    fn make_room(&self, state: &mut State, run: &RunId, well: bool) -> Vec<Accepted> {
        let Some(pool) = state.pools.get_mut(run) else {
            return Vec::new();
        };
        // What is refused learns it by what is dropped with it.
        let Next::Begin(entries) = pool.ended(well) else {
            return Vec::new();
        };
        let begin = entries.into_iter().filter_map(|entry| {
            let followers = entry.live.followers.clone();
            match self.begin(state, entry) {
                Ok(accepted) => Some(accepted),
                Err(Answer::Gone(gone)) => {
                    followers.tell(&gone);
                    None
                }
                Err(_) => None,
            }
        });
        begin.collect()
    }

    /// Takes an attempt back that has not begun; says whether it had not.
    pub(super) fn take_back(&self, task: &Task) -> bool {
        let mut state = self.state();
        let pool = state.pools.get_mut(&task.run);
        pool.and_then(|pool| pool.take(task)).is_some()
    }

    /// Follows an attempt that is under way.
    pub(super) fn follow(&self, task: &Task, shows: bool) -> Option<Following> {
        let state = self.state();
        state.live.get(task).map(|live| live.follow(shows))
    }

    /// Begins nothing of a run any more.
    pub(super) fn seal(&self, run: RunId) {
        let mut state = self.state();
        state.pools.remove(&run);
        state.sealed.insert(run);
    }

    /// The run has ended: there is nothing more to wait for than what is under way.
    pub(super) fn conclude(&self, waits: UnixStream) {
        self.state().concluding.push(waits);
    }

    /// The engine that started this keeper is gone.
    pub(super) fn left_alone(&self) {
        let mut state = self.state();
        state.attended = false;
        // Nobody is there to decide what follows.
        state.pools.clear();
    }

    /// Whether the engine that started this keeper lives.
    pub(super) fn is_attended(&self) -> bool {
        self.state().attended
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
        state.pools.clear();
        for live in state.live.values() {
            live.stop.send_replace(Stop::AtOnce);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Answer, Asked, Desk, Journal, Seat, Task};
    use crate::exec::attempt::Job;
    use crate::exec::process::Command;
    use crate::machine::{Attempt, Place};
    use crate::name::{Name, RunId};
    use crate::time::SystemClock;

    fn asked(dir: &std::path::Path, step: &str, staged: bool) -> Asked {
        let place = Place::of(&Name::parse(step).unwrap());
        let command = Command {
            argv: vec!["true".into()],
            env: Vec::new(),
            cwd: dir.into(),
            sandbox: None,
            pins: None,
            input: None,
        };
        Asked {
            task: Task {
                run: RunId::from_bytes([7; 16]),
                attempt: Attempt { place, attempt: 1 },
            },
            job: Job {
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
            seat: Some(Seat {
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
        let journal = Journal::open(&dir.path().join("journal")).unwrap();
        let desk = Desk::new("k".into(), journal, Arc::new(SystemClock));
        let (first, _) = desk.accept(asked(dir.path(), "a", false)).unwrap();
        assert!(first.is_some());
        let (waits, mut following) = desk.accept(asked(dir.path(), "b", true)).unwrap();
        assert!(waits.is_none());
        desk.left_alone();
        let begun = following.begun.as_mut().unwrap().try_recv();
        assert!(begun.is_err());
        // What was sent before is read after.
        let late = desk.accept(asked(dir.path(), "c", true));
        assert!(matches!(late, Err(Answer::Unstaged)));
    }
}
