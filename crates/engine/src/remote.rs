//! A run on a backend: a program of its own drives it somewhere else, and says here what has happened.
//!
//! The program reads [`ToBackend`] from its standard input and writes [`FromBackend`] to its standard output, one JSON value
//! in each line. Before it passes on events, it puts the files that they name among those of the state. What it says is
//! recorded, and shown, as if the run were here; if it ends too early, the run goes on without it, and it can be started
//! anew to follow the run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use wf_base::name::RunId;
use wf_core::machine::{Event, RunApproval};
use wf_exec::dialogue::{self, DialogueLimits, LineReceiver, LineSender};
use wf_exec::process::ProcessCommand;
use wf_exec::{StopLevel, spawn_task};
use wf_model::JsonObject;
use wf_sign::approval::Approvers;
use wf_store::StoreError;

use super::begin::block_on;
use super::{EngineError, EngineSession, FinishedRun, RunReplica, RunRequest, signals};

/// The limits on the program of a backend: it follows a run as long as that takes.
const LIMITS: DialogueLimits = DialogueLimits {
    timeout: Duration::from_hours(365 * 24),
    grace: Duration::from_secs(1),
    line: 64 * 1024 * 1024,
    output: u64::MAX,
};

/// The interval between two looks for answers of approvers.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The time after which an answer that was delivered and led to nothing was not enough.
const COUNTING_TIME: Duration = Duration::from_secs(10);

/// A program that drives runs on a backend.
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
}

/// A message to the program of a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToBackend {
    /// The run to start, or to follow if it was started before; always the first message.
    Follow(Box<BackendRun>),
    /// A signed answer to a request.
    Answer {
        /// The number of the request.
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
    /// The next events of the run.
    Events(Vec<Event>),
    /// An answer to a request reached the run, or was refused by it.
    Delivered,
    /// Something that the user should know.
    Note(String),
    /// The reason why the program ends before the run does.
    Failed(String),
}

/// A run on a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BackendRun {
    /// The run.
    pub run: RunId,
    /// The number of its events that are recorded here.
    pub recorded: u64,
    /// The root of its workspace.
    pub root: PathBuf,
    /// The state folder.
    pub state: PathBuf,
    /// The path of its plan, relative to the root.
    pub path: String,
    /// The texts that it runs by.
    pub sources: Vec<(String, String)>,
    /// Its resolved parameters.
    pub params: JsonObject,
    /// Its approval.
    pub approved: Option<RunApproval>,
    /// The approvers whose answers count.
    pub approvers: Approvers,
    /// The configuration that it runs under.
    pub config: Value,
}

impl BackendRun {
    /// Describes a run of which nothing is recorded yet.
    fn of(session: &EngineSession, request: &RunRequest) -> Self {
        Self {
            run: request.run.clone(),
            recorded: 0,
            root: session.root.clone(),
            state: session.store.folder().path().to_path_buf(),
            path: request.path.clone(),
            sources: request.sources.clone(),
            params: request.params.clone(),
            approved: request.approved.clone(),
            approvers: session.approvers.clone(),
            config: request.config.clone(),
        }
    }
}

/// Starts a run on a backend, or follows one that was started there, until it is over. The first interrupt of this program
/// cancels the run.
pub fn run_on(
    session: &Arc<EngineSession>,
    request: RunRequest,
    backend: &BackendProgram,
) -> Result<FinishedRun, EngineError> {
    let finished = block_on(async {
        let (stop, heard) = watch::channel(StopLevel::No);
        let (session, backend) = (Arc::clone(session), backend.clone());
        Box::pin(signals::heeding(stop, spawn_task(follow(session, request, backend, heard)))).await
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
    let mut message = BackendRun::of(&session, &request);
    let mut replica = RunReplica::open(&session, request).await?;
    if let Some(end) = replica.end() {
        return Ok(end.clone());
    }
    message.recorded = replica.event_count();
    let command = ProcessCommand::new(backend.argv.clone(), backend.env.clone(), session.root.clone());
    let (_kill, heard) = watch::channel(StopLevel::No);
    let failed = |reason: String| EngineError::Backend { name: backend.name.clone(), reason };
    let begun = dialogue::begin(&command, LIMITS, heard).map_err(|unable| failed(unable.reason))?;
    let (mut sender, mut lines, process) = begun;
    let mut process = std::pin::pin!(process);
    send(&mut sender, &ToBackend::Follow(Box::new(message))).await;
    let mut link = BackendLink::new(sender);
    if backend.cancels {
        link.cancel(StopLevel::Gently).await;
    }
    loop {
        if let Some(end) = replica.end() {
            return Ok(end.clone());
        }
        tokio::select! {
            biased;
            line = next_line(&mut lines) => match serde_json::from_slice(&line) {
                Ok(FromBackend::Events(events)) => {
                    if let Err(refused) = replica.extend(events).await {
                        if matches!(refused, EngineError::Store(StoreError::UsedUp { .. })) {
                            // Another run has used its approval up: it may not go on there either.
                            link.cancel(StopLevel::AtOnce).await;
                            link.sender.close();
                            process.await;
                        }
                        return Err(refused);
                    }
                }
                Ok(FromBackend::Delivered) => link.delivered(),
                Ok(FromBackend::Note(text)) => session.add_note(text),
                Ok(FromBackend::Failed(reason)) => return Err(failed(reason)),
                Err(error) => return Err(failed(format!("its program says what wf does not know: {error}"))),
            },
            end = &mut process => {
                let said = end.ends.err.trim().to_owned();
                let said = if said.is_empty() { "its program ended".to_owned() } else { said };
                return Err(failed(said));
            }
            Ok(()) = stop.changed() => {
                let wanted = *stop.borrow_and_update();
                link.cancel(wanted).await;
            }
            () = tokio::time::sleep(ANSWER_POLL_INTERVAL) => {
                let may_count = link.pass_on_answers(&session, &replica).await?;
                if !may_count && !session.stays && replica.only_waits_for_people() {
                    let run = replica.id().clone();
                    return Err(EngineError::Parked { run, questions: replica.questions() });
                }
            }
        }
    }
}

/// Waits for a line; for ever, if there are no more: the end of the program tells the reason.
async fn next_line(lines: &mut LineReceiver) -> Vec<u8> {
    match lines.recv().await {
        Some(line) => line,
        None => std::future::pending().await,
    }
}

async fn send(sender: &mut LineSender, message: &ToBackend) {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    sender.send_text(&line).await;
}

/// The way to the program, and what it was told.
struct BackendLink {
    sender: LineSender,
    sent: BTreeSet<(u32, String)>,
    /// The number of answers that were passed on and have not been delivered.
    undelivered: usize,
    /// The time of the last delivery.
    delivered_at: Option<Instant>,
    asked: StopLevel,
}

impl BackendLink {
    fn new(sender: LineSender) -> Self {
        Self { sender, sent: BTreeSet::new(), undelivered: 0, delivered_at: None, asked: StopLevel::No }
    }

    fn delivered(&mut self) {
        self.undelivered = self.undelivered.saturating_sub(1);
        self.delivered_at = Some(Instant::now());
    }

    async fn cancel(&mut self, wanted: StopLevel) {
        for degree in [StopLevel::Gently, StopLevel::AtOnce] {
            if self.asked < degree && degree <= wanted {
                self.asked = degree;
                send(&mut self.sender, &ToBackend::Cancel).await;
            }
        }
    }

    /// Passes on new answers. Returns true if one may still be counted.
    async fn pass_on_answers(
        &mut self,
        session: &EngineSession,
        replica: &RunReplica,
    ) -> Result<bool, EngineError> {
        for ask in replica.open_requests() {
            for answer in session.store.reader()?.answers(replica.id(), ask.request)? {
                let key = (ask.request, answer.token);
                if !self.sent.contains(&key) {
                    let (request, token) = key.clone();
                    send(&mut self.sender, &ToBackend::Answer { request, token }).await;
                    self.sent.insert(key);
                    self.undelivered += 1;
                }
            }
        }
        let is_counting = self.delivered_at.is_some_and(|at| at.elapsed() < COUNTING_TIME);
        Ok(self.undelivered > 0 || is_counting)
    }
}
