//! The driver of `wf run --on`: it starts a workflow, or finds one, and passes on what happens.

use std::{
    io::{BufRead as _, Write as _},
    path::PathBuf,
    time::Duration,
};

use futures::FutureExt as _;
use serde::Serialize;
use temporalio_client::{
    Client, WorkflowExecuteUpdateOptions, WorkflowGetResultOptions, WorkflowHandle, WorkflowIdConflictPolicy,
    WorkflowIdReusePolicy, WorkflowSignalOptions, WorkflowStartOptions,
    errors::{WorkflowGetResultError, WorkflowInteractionError, WorkflowStartError, WorkflowUpdateError},
};
use tokio::{sync::mpsc, time::Instant};

use wf_app::{Host, Workspace, config::Backend};
use wf_base::failpoint;
use wf_core::machine::LOGIC_VERSION;
use wf_engine::{BackendRun, FromBackend, STOP_REASON, ToBackend};

use crate::{
    files::objects::{ObjectError, Objects},
    follower::{
        followed_run::{FollowedRun, RunLook, UNKNOWN},
        local_copy::LocalCopy,
        rescue::stuck,
        stored_workspace::{StoredWorkspace, store_state},
    },
    messages::order::{BegunRunMark, RequestAnswer, RunOrder, RunSpec},
    run::driver::DEFAULT_QUEUE,
    worker::log_line,
    workflows::{inquiry::is_silence, workflow::RunWorkflow},
};

/// The intervals between two looks at a run. Each look costs the workflow of the run time its steps could use.
const FIRST_POLL: Duration = Duration::from_millis(150);
const LAST_POLL: Duration = Duration::from_secs(1);
const BUSY_POLL: Duration = Duration::from_millis(500);

/// The time for which an answer is offered to a run nobody seems to drive.
const ANSWER_PATIENCE: Duration = Duration::from_mins(2);

/// The number of events between two looks making a run busy.
const BUSY_EVENTS: u64 = 100;

/// The reason why a run cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The object store does not do what it should.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The files of the run cannot be stored here.
    #[error(transparent)]
    Store(#[from] wf_store::StoreError),
    /// The files of the workspace cannot be listed.
    #[error("cannot list the files of the workspace: {0}")]
    Files(String),
    /// The server refuses, or does not answer.
    #[error("the Temporal server cannot {doing}: {reason}")]
    Server {
        /// The operation.
        doing: &'static str,
        /// The answer.
        reason: String,
    },
    /// The server has no workflow of the run.
    #[error("{UNKNOWN}; `wf cancel RUN` ends its record")]
    Unknown,
    /// No worker drives the run.
    #[error(
        "no worker answers for the run; start one with `wf-temporal worker NAME`, or look at the log of those there are"
    )]
    Silent,
    /// No worker can decide about the run.
    #[error(
        "the run cannot go on: {0}; a worker of the version that drove it may be able to, else `wf cancel RUN` ends it as it \
         is recorded, and `wf retry RUN` goes on from there"
    )]
    Stuck(String),
    /// The command that started this program said something else than expected.
    #[error("this program is started by `wf run --on NAME PLAN`, and reads what that says")]
    Protocol,
}

/// Follows the run the first line of standard input names.
pub async fn follow(backend: &Backend, client: Client, host: &Host) -> Result<(), FollowError> {
    let mut messages = messages();
    let Some(ToBackend::Follow(run)) = messages.recv().await else {
        return Err(FollowError::Protocol);
    };
    let objects = Objects::open(&backend.objects)?;
    if !run.is_started() {
        let order = prepare(&run, backend, host, &objects).await?;
        say(&FromBackend::Ready);
        let Some(ToBackend::Start) = messages.recv().await else { return Ok(()) };
        if let Some(order) = order {
            let queue = backend.queues.get(DEFAULT_QUEUE).map_or("", String::as_str);
            start(&client, queue, order).await?;
        }
    }
    pass_on_until_the_end(&run, &client, objects, messages).await
}

/// Passes on what happens to a run, and the wishes about it, until it is over or nobody listens.
async fn pass_on_until_the_end(
    run: &BackendRun,
    client: &Client,
    objects: Objects,
    mut messages: mpsc::UnboundedReceiver<ToBackend>,
) -> Result<(), FollowError> {
    let handle = client.get_workflow_handle::<RunWorkflow>(run.run.as_str());
    let mut local = LocalCopy::new(run, objects.clone());
    let mut followed = FollowedRun::new(run, &handle, objects);
    let (mut pause, mut forced) = (FIRST_POLL, None);
    // The server tells at once when the run is over, and nothing before.
    let mut end = std::pin::pin!(handle.get_result(WorkflowGetResultOptions::default()).fuse());
    loop {
        tokio::select! {
            biased;
            message = messages.recv() => match message {
                Some(message) => {
                    followed.is_cancelled |= matches!(message, ToBackend::Cancel);
                    pass_on(message, &handle).await?;
                }
                None => return Ok(()),
            },
            end = &mut end => {
                (pause, followed.is_over) = (Duration::ZERO, true);
                forced = end.err().as_ref().and_then(forced_end);
            }
            () = tokio::time::sleep(pause) => {
                let news = match followed.look().await? {
                    RunLook::News(news) => *news,
                    RunLook::Nothing => {
                        pause = FIRST_POLL;
                        continue;
                    }
                    RunLook::Ended(reason) => {
                        followed.take_recorded(&mut local).await?;
                        say(&FromBackend::Terminated(reason));
                        return Ok(());
                    }
                };
                let is_over = news.outcome.is_some();
                let count = local.take_news(news).await?;
                pause = match count {
                    0 => (pause * 3 / 2).clamp(FIRST_POLL, LAST_POLL),
                    1..BUSY_EVENTS => FIRST_POLL,
                    _ => BUSY_POLL,
                };
                if is_over && count == 0 {
                    return Ok(());
                }
                if let Some(reason) = forced.take_if(|_| count == 0) {
                    say(&FromBackend::Terminated(reason));
                    return Ok(());
                }
            }
        }
    }
}

/// Passes a message of the command that started this program on to the run.
async fn pass_on(
    message: ToBackend,
    handle: &WorkflowHandle<Client, RunWorkflow>,
) -> Result<(), FollowError> {
    match message {
        ToBackend::Cancel => {
            let reason = STOP_REASON.to_owned();
            match handle.signal(RunWorkflow::cancel, reason, WorkflowSignalOptions::default()).await {
                // It is over, or unknown, and how it ended is asked for next.
                Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => Ok(()),
                Err(error) => Err(refused("cancel the run", &error)),
            }
        }
        ToBackend::Answer { run, request, token } => {
            deliver(RequestAnswer { run, request, token }, handle).await?;
            say(&FromBackend::Delivered);
            Ok(())
        }
        ToBackend::Follow(_) | ToBackend::Start => Err(FollowError::Protocol),
    }
}

/// Passes an answer on, for as long as somebody may drive the run: one nobody takes is not delivered.
async fn deliver(
    answer: RequestAnswer,
    handle: &WorkflowHandle<Client, RunWorkflow>,
) -> Result<(), FollowError> {
    let begun = Instant::now();
    loop {
        let options = WorkflowExecuteUpdateOptions::default();
        match handle.execute_update(RunWorkflow::answer, answer.clone(), options).await {
            Ok(()) => return Ok(()),
            Err(WorkflowUpdateError::Rpc(status)) if is_silence(&status) => match stuck(handle).await? {
                Some(reason) => return Err(FollowError::Stuck(reason)),
                None if begun.elapsed() > ANSWER_PATIENCE => return Err(FollowError::Silent),
                None => tokio::time::sleep(LAST_POLL).await,
            },
            Err(error) => {
                log_line(&format!("an answer to request {} was refused: {error}", answer.request));
                return Ok(());
            }
        }
    }
}

/// Returns the reason why a workflow ended before its run did; `None`: it did not, as far as known.
pub(crate) fn forced_end(error: &WorkflowGetResultError) -> Option<String> {
    use WorkflowGetResultError::{Cancelled, Failed, Terminated, TimedOut};
    let is_forced = matches!(error, Failed(_) | Cancelled { .. } | Terminated { .. } | TimedOut);
    is_forced.then(|| format!("the workflow of the run was ended on the Temporal server: {error}"))
}

/// Stores the inputs of a run; `None`: it was begun before, and must not begin again.
async fn prepare(
    run: &BackendRun,
    backend: &Backend,
    host: &Host,
    objects: &Objects,
) -> Result<Option<RunOrder>, FollowError> {
    if run.is_begun || run.recorded > 0 && objects.has_json(&BegunRunMark { begun: run.run.clone() }).await? {
        return Ok(None);
    }
    let workspace = Workspace { root: run.root.clone(), state: run.state.clone() };
    // Steps that run again rely on what others made, which git may ignore.
    let artifacts = run.retried.artifacts.iter().map(PathBuf::from);
    let StoredWorkspace { tree, state_folder, is_repository } =
        StoredWorkspace::new(&workspace, artifacts, host, objects).await?;
    let state = store_state(&run.carried, &run.state, objects).await?;
    let spec = RunSpec {
        logic_version: LOGIC_VERSION,
        path: run.path.clone(),
        sources: run.sources.clone(),
        params: run.params.clone(),
        approved: run.approved.clone(),
        approvers: run.approvers.clone(),
        config: run.config.clone(),
        opening: run.opening.clone(),
        retried: run.retried.clone(),
        conversations: match &run.conversations {
            none if none.is_empty() => None,
            earlier => Some(objects.put_json(earlier).await?),
        },
        state,
        state_folder,
        is_repository,
        tree,
        queues: backend.queues.clone(),
    };
    let spec = objects.put_json(&spec).await?;
    Ok(Some(RunOrder { run: run.run.clone(), spec, progress: None }))
}

/// Starts the workflow of a run on a task queue. If it was started before, it is that one.
pub(crate) async fn start(client: &Client, queue: &str, order: RunOrder) -> Result<(), FollowError> {
    let options = WorkflowStartOptions::new(queue, order.run.as_str())
        .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
        .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
        .build();
    failpoint::point("start.before");
    let started = client.start_workflow(RunWorkflow::run, order, options).await;
    failpoint::point("start.after");
    match started {
        Ok(_) | Err(WorkflowStartError::AlreadyStarted { .. }) => Ok(()),
        Err(error) => Err(refused("start the run", &error)),
    }
}

/// Says something to the command that started this program.
pub fn say(message: &impl Serialize) {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    failpoint::point("message.before");
    let mut out = std::io::stdout().lock();
    // If nobody reads any more, the end of standard input says so.
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

/// Reads the messages of the command that started this program.
fn messages() -> mpsc::UnboundedReceiver<ToBackend> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lock().lines() {
            let message = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            let Some(message) = message else { return };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

pub(crate) fn refused(doing: &'static str, error: &impl std::fmt::Display) -> FollowError {
    FollowError::Server { doing, reason: error.to_string() }
}
