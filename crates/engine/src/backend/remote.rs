//! A run on a backend: a program of its own drives it somewhere else, and says here what has happened.
//!
//! The program reads [`ToBackend`] from its standard input and writes [`FromBackend`] to its standard output, one JSON
//! value in each line. What a run begins with, and with it the use of its approval, is recorded here before the program
//! starts it there ([`FromBackend::Ready`], [`ToBackend::Start`]). The events of the run and of all nested in it come
//! in one order. Before it passes on events, it puts the files they name among those of the state. What it says is
//! recorded, and shown, as if the run were here; if it ends too early, the run goes on without it, and it can be
//! started anew to follow the run. A run terminated there is brought to its end here, where nothing of it is done any
//! more.

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use wf_base::name::RunId;
use wf_core::{
    machine::{Event, LockHolder, LockKey, RunApproval, TaskId},
    observe::TaskRemark,
};
use wf_exec::{
    StopLevel, WorkError,
    dialogue::{self, DialogueEnd, DialogueLimits, LineReceiver, LineSender},
    process::ProcessCommand,
    spawn_task,
};
use wf_model::JsonObject;
use wf_sign::approval::Approvers;

use super::{
    carried_state::CarriedState,
    family::RunFamily,
    link::{BackendLink, send},
    nested_run::NestedRun,
    retried_results::RetriedResults,
};
use crate::{
    files::kept,
    reuse::RepeatedRun,
    session::{
        EngineError, EngineSession, FinishedRun, RunRequest,
        remote_workspace::EarlierConversations,
        state_addition::StateAddition,
        waiting::{self, block_on},
    },
};

/// The limits on the program of a backend: it follows a run as long as that takes.
const LIMITS: DialogueLimits = DialogueLimits {
    timeout: Duration::from_hours(365 * 24),
    grace: Duration::from_secs(1),
    line: 64 * 1024 * 1024,
    output: u64::MAX,
};

/// The interval between two looks for answers of approvers.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(300);

/// A program driving runs on a backend.
#[derive(Clone, Debug)]
pub struct BackendProgram {
    /// The name of the backend, in messages.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// True if the run is to end.
    pub cancels: bool,
    /// True if an interrupt of this program ends the following only, and not the run.
    pub leaves: bool,
}

impl BackendProgram {
    /// Starts the program.
    async fn begin(
        &self,
        session: &EngineSession,
    ) -> Result<(LineSender, ProgramOutput<impl Future<Output = DialogueEnd> + use<>>), WorkError> {
        let command = ProcessCommand::new(self.argv.clone(), self.env.clone(), session.root.clone());
        let (kill, heard) = watch::channel(StopLevel::No);
        let (sender, lines, process) = dialogue::begin(&command, LIMITS, heard).await?;
        let process = Box::pin(async move {
            let _kill = kill;
            process.await
        });
        Ok((sender, ProgramOutput { lines, process, ended: None }))
    }

    /// Returns the error of a program that failed; `is_new`: before anything was recorded.
    fn failure(&self, reason: impl fmt::Display, is_new: bool) -> EngineError {
        let (name, reason) = (self.name.clone(), reason.to_string());
        if is_new { EngineError::Unstarted { name, reason } } else { EngineError::Backend { name, reason } }
    }
}

/// A message to the program of a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToBackend {
    /// The run to follow, or to prepare if no more than its opening is recorded; always the first message.
    Follow(Box<BackendRun>),
    /// To start the prepared run: its opening is recorded. If it was started before, it is that one.
    Start,
    /// A signed answer to a request.
    Answer {
        /// The asking run.
        run: RunId,
        request: u32,
        /// The answer.
        token: String,
    },
    /// To end the run; the second time, at once.
    Cancel,
}

/// A message from the program of a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromBackend {
    /// Everything is there for the start of the run.
    Ready,
    /// A nested run, before its events that follow.
    Nested(Box<NestedRun>),
    /// The next events of a run. Those of the run and of all nested in it come in the order in which they happened.
    Events { run: RunId, events: Vec<Event> },
    /// The next additions of their work to the state, which has the files of cached results.
    Additions(Vec<StateAddition>),
    /// A task waits for a named lock.
    LockHeld {
        /// The run of the task.
        waits: RunId,
        #[serde(rename = "place")]
        task_id: TaskId,
        lock: String,
        run: RunId,
        /// The task of this run.
        holder: TaskId,
    },
    /// An answer to a request reached the run, or was refused by it.
    Delivered,
    /// Something the user should know.
    Note(String),
    /// The reason why the program ends before the run does.
    Failed(String),
    /// The reason why nothing decides about the run there any more, though it has not come to its end.
    Terminated(String),
}

/// A run on a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BackendRun {
    pub run: RunId,
    /// The number of its events recorded here, with those of the runs nested in it.
    pub recorded: u64,
    /// Its opening, recorded or not.
    pub opening: Vec<Event>,
    /// The results of the run it repeats, until it is started.
    pub retried: RetriedResults,
    /// The conversations its agents may continue, until it is started.
    pub conversations: EarlierConversations,
    /// The part of the state going with it, until it is started.
    pub carried: CarriedState,
    /// The root of its workspace.
    pub root: PathBuf,
    pub state: PathBuf,
    /// The path of its plan, relative to the root.
    pub path: String,
    pub sources: Vec<(String, String)>,
    /// Its resolved parameters.
    pub params: JsonObject,
    pub approved: Option<RunApproval>,
    /// The approvers whose answers count.
    pub approvers: Approvers,
    /// The configuration it runs under.
    pub config: Value,
    /// True if it was begun there, so it is not to be started.
    #[serde(default)]
    pub is_begun: bool,
}

impl BackendRun {
    /// True if more than its opening is recorded, so it was started.
    pub fn is_started(&self) -> bool {
        self.recorded > self.opening.len() as u64
    }

    /// Describes the run as far as it is recorded. `past` is the run it repeats.
    fn recorded_as(
        self,
        family: &RunFamily,
        repeated_run: Option<RepeatedRun>,
        session: &EngineSession,
    ) -> Result<Self, EngineError> {
        let (recorded, opening) = (family.recorded_count(&session.store)?, family.outermost().opening());
        let message = Self { recorded, opening: opening.to_vec(), ..self };
        if message.is_started() || message.is_begun {
            return Ok(message);
        }
        let carried = CarriedState::from_run(&family.outermost().run)?;
        let retried = repeated_run
            .map(|past| RetriedResults::from_repeated(&session.store.log_reader()?, &past, &message.params))
            .transpose()?;
        let mut retried = retried.unwrap_or_default();
        retried.artifacts.extend(carried.past_files());
        let conversations = family.outermost().earlier_conversations()?;
        Ok(Self { retried, conversations, carried, ..message })
    }

    /// Describes a run without a record yet.
    fn of(session: &EngineSession, request: &RunRequest) -> Self {
        Self {
            run: request.run.clone(),
            recorded: 0,
            opening: Vec::new(),
            retried: RetriedResults::default(),
            conversations: EarlierConversations::default(),
            carried: CarriedState::default(),
            root: session.root.clone(),
            state: session.store.folder().path().to_path_buf(),
            path: request.path.clone(),
            sources: request.sources.clone(),
            params: request.params.clone(),
            approved: request.approved.clone(),
            approvers: session.approvers.approvers(),
            config: request.config.clone(),
            is_begun: request.begun.is_some(),
        }
    }
}

/// Starts a run on a backend, or follows one started there, until it is over. The first interrupt of this program
/// cancels the run, unless that is left there.
pub fn run_on(
    session: &Arc<EngineSession>,
    request: RunRequest,
    backend: &BackendProgram,
) -> Result<FinishedRun, EngineError> {
    let request =
        RunRequest { repeated_run: kept::without_changed(session, request.repeated_run)?, ..request };
    let finished = block_on(async {
        let (stop, heard) = watch::channel(StopLevel::No);
        let (session, backend) = (Arc::clone(session), backend.clone());
        Box::pin(waiting::heeding(stop, spawn_task(follow(session, request, backend, heard)))).await
    });
    session.executor.confirm_recorded();
    finished
}

async fn follow(
    session: Arc<EngineSession>,
    request: RunRequest,
    backend: BackendProgram,
    mut stop: watch::Receiver<StopLevel>,
) -> Result<FinishedRun, EngineError> {
    let (message, past) = (BackendRun::of(&session, &request), request.repeated_run.clone());
    let mut family = RunFamily::open(&session, request).await?;
    if let Some(end) = family.outermost().end() {
        return Ok(end.clone());
    }
    let message = message.recorded_as(&family, past, &session)?;
    let (is_new, is_started) = (message.recorded == 0, message.is_started());
    let (mut sender, mut output) =
        backend.begin(&session).await.map_err(|unable| backend.failure(unable, is_new))?;
    send(&mut sender, &ToBackend::Follow(Box::new(message))).await;
    let mut link = BackendLink::new(sender);
    if !is_started {
        tokio::select! {
            said = output.next() => match said.map_err(|silence| backend.failure(silence, is_new))? {
                FromBackend::Ready => link.start(&mut family).await?,
                said => return Err(backend.failure(unready(&said), is_new)),
            },
            Ok(()) = stop.changed() => return Err(EngineError::Cancelled),
        }
    }
    let failed = |silence| backend.failure(silence, false);
    if backend.cancels {
        link.cancel(StopLevel::Gently).await;
    }
    loop {
        if let Some(end) = family.outermost().end() {
            return Ok(end.clone());
        }
        tokio::select! {
            biased;
            said = output.next() => match said.map_err(failed)? {
                FromBackend::Nested(nested) => family.open_nested(&nested)?,
                FromBackend::Events { run, events } => family.extend(&run, events).await?,
                FromBackend::Additions(additions) => family.write_additions(additions, &session.store).await?,
                FromBackend::LockHeld { waits, task_id, lock, run, holder } => {
                    family.remark(&waits, &task_id, &lock_held(lock, run, &holder));
                }
                FromBackend::Delivered => link.delivered(),
                FromBackend::Note(text) => session.add_note(text),
                FromBackend::Terminated(reason) => family.terminate(&reason).await?,
                FromBackend::Ready | FromBackend::Failed(_) => {}
            },
            Ok(()) = stop.changed() => {
                if backend.leaves {
                    return Err(EngineError::Cancelled);
                }
                let level = *stop.borrow_and_update();
                link.cancel(level).await;
            }
            () = tokio::time::sleep(ANSWER_POLL_INTERVAL) => {
                let may_count = link.pass_on_answers(&session, &family).await?;
                if !may_count && !session.stays && family.only_waits_for_people() {
                    return Err(family.parked());
                }
            }
        }
    }
}

fn unready(said: &FromBackend) -> String {
    format!("its program is not ready to start the run: {said:?}")
}

/// Returns the remark about a task with a lock another one waits for.
fn lock_held(lock: String, run: RunId, holder: &TaskId) -> TaskRemark {
    TaskRemark::LockHeld(LockHolder {
        key: LockKey::Name(lock),
        run,
        place: holder.to_string(),
        waits: false,
    })
}

/// The reason why a program has no further message.
#[derive(Debug, thiserror::Error)]
enum BackendSilence {
    /// The program ended, or says that it cannot go on, with this reason.
    #[error("{0}")]
    Failed(String),
    #[error("its program says what wf does not know: {0}")]
    Unknown(#[from] serde_json::Error),
}

/// The messages of a program, and its end.
struct ProgramOutput<P> {
    lines: LineReceiver,
    process: Pin<Box<P>>,
    /// The reason of its end, once it has ended.
    ended: Option<String>,
}

impl<P: Future<Output = DialogueEnd>> ProgramOutput<P> {
    /// Waits for the next message.
    async fn next(&mut self) -> Result<FromBackend, BackendSilence> {
        let line = loop {
            // Its last words may arrive with its end.
            if let Some(ended) = &self.ended {
                break self.lines.try_recv().map_err(|_| BackendSilence::Failed(ended.clone()))?;
            }
            tokio::select! {
                biased;
                Some(line) = self.lines.recv() => break line,
                end = &mut self.process => {
                    let complaint = end.tails.err.trim();
                    self.ended = Some(if complaint.is_empty() { "its program ended" } else { complaint }.to_owned());
                }
            }
        };
        match serde_json::from_slice(&line)? {
            FromBackend::Failed(reason) => Err(BackendSilence::Failed(reason)),
            said => Ok(said),
        }
    }
}
