//! The driver that `wf run --on` starts: it starts a workflow, or finds one, and passes on what happens.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use temporalio_client::{
    Client, WorkflowExecuteUpdateOptions, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
    WorkflowQueryOptions, WorkflowSignalOptions, WorkflowStartOptions,
};
use tokio::sync::mpsc;

use wf_app::config::Backend;
use wf_app::{Host, Workspace};
use wf_engine::{BackendRun, FromBackend, ToBackend};
use wf_store::{BlobStore, StateFolder, StoreDurability};

use crate::bring_back::bring_back;
use crate::checkout::store_tree;
use crate::driver::DEFAULT_QUEUE;
use crate::objects::{ObjectError, Objects};
use crate::order::{RequestAnswer, RunFile, RunNews, RunOrder, RunSpec, UnstoredLog};
use crate::run_folder::write_files;
use crate::site::{event_files, log_since};
use crate::terminal::note;
use crate::workflow::RunWorkflow;

/// The intervals between two looks at a run. Each look costs the workflow of the run time that its steps could use.
const FIRST_POLL: Duration = Duration::from_millis(150);
const LAST_POLL: Duration = Duration::from_secs(1);

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
    /// The command that started this program said something else than expected.
    #[error("this program is started by `wf run --on NAME PLAN`, and reads what that says")]
    Protocol,
}

/// Follows the run that the first line of standard input names.
pub async fn follow(backend: &Backend, client: Client, host: &Host) -> Result<(), FollowError> {
    let mut messages = messages();
    let Some(ToBackend::Follow(run)) = messages.recv().await else {
        return Err(FollowError::Protocol);
    };
    let objects = Objects::open(&backend.objects)?;
    let queue = backend.queues.get(DEFAULT_QUEUE).cloned().unwrap_or_default();
    if run.recorded == 0 {
        start(&run, backend, &queue, &client, host, &objects).await?;
    }
    let handle = client.get_workflow_handle::<RunWorkflow>(run.run.as_str());
    let mut local = LocalCopy::of(&run, objects);
    let mut pause = FIRST_POLL;
    loop {
        tokio::select! {
            message = messages.recv() => match message {
                Some(ToBackend::Cancel) => {
                    let reason = "cancelled by a signal (Ctrl-C / wf cancel)".to_owned();
                    let told = handle.signal(RunWorkflow::cancel, reason, WorkflowSignalOptions::default());
                    told.await.map_err(|error| refused("cancel the run", &error))?;
                }
                Some(ToBackend::Answer { request, token }) => {
                    let answer = RequestAnswer { request, token };
                    let options = WorkflowExecuteUpdateOptions::default();
                    if let Err(error) = handle.execute_update(RunWorkflow::answer, answer, options).await {
                        note(&format!("an answer to request {request} was refused: {error}"));
                    }
                    say(&FromBackend::Delivered);
                }
                Some(ToBackend::Follow(_)) => return Err(FollowError::Protocol),
                None => return Ok(()),
            },
            () = tokio::time::sleep(pause) => {
                let news = handle.query(RunWorkflow::news, (), WorkflowQueryOptions::default()).await;
                let news = news.map_err(|error| refused("tell how the run goes", &error))?;
                let Some(news) = news else { continue };
                let is_over = news.outcome.is_some();
                let is_new = local.take(news).await?;
                pause = if is_new { FIRST_POLL } else { (pause * 3 / 2).min(LAST_POLL) };
                if is_over && !is_new {
                    return Ok(());
                }
            }
        }
    }
}

/// Starts the workflow of a run. If it was started before, it is that one.
async fn start(
    run: &BackendRun,
    backend: &Backend,
    queue: &str,
    client: &Client,
    host: &Host,
    objects: &Objects,
) -> Result<(), FollowError> {
    let workspace = Workspace { root: run.root.clone(), state: run.state.clone() };
    let files = wf_app::workspace_files(&workspace, &host.vars())
        .map_err(|error| FollowError::Files(error.message))?;
    let spec = RunSpec {
        path: run.path.clone(),
        sources: run.sources.clone(),
        params: run.params.clone(),
        approved: run.approved.clone(),
        approvers: run.approvers.clone(),
        config: run.config.clone(),
        tree: store_tree(&run.root, files, std::slice::from_ref(&run.state), objects).await?,
        queues: backend.queues.clone(),
    };
    let spec = objects.put_json(&spec).await?;
    let order = RunOrder { run: run.run.clone(), spec, progress: None };
    let options = WorkflowStartOptions::new(queue, run.run.as_str())
        .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
        .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
        .build();
    let started = client.start_workflow(RunWorkflow::run, order, options).await;
    started.map(drop).map_err(|error| refused("start the run", &error))
}

/// The copy of a run in the state of the command that follows it.
struct LocalCopy {
    count: u64,
    root: PathBuf,
    folder: PathBuf,
    blobs: BlobStore,
    objects: Objects,
    files: Vec<RunFile>,
}

impl LocalCopy {
    fn of(run: &BackendRun, objects: Objects) -> Self {
        let state = StateFolder::new(&run.state);
        let blobs = BlobStore::new(state.blobs(), StoreDurability::Normal);
        Self {
            count: run.recorded,
            root: run.root.clone(),
            folder: state.run(&run.run),
            blobs,
            objects,
            files: Vec::new(),
        }
    }

    /// Takes what is new, and passes it on: files first. Returns true if something was.
    async fn take(&mut self, news: RunNews) -> Result<bool, FollowError> {
        let UnstoredLog { events: rest, files: rest_files } = news.rest.open(&self.objects).await?;
        let (mut events, mut files) = log_since(&self.objects, news.log, self.count).await?;
        if news.outcome.is_some() {
            let (mut all, _) = log_since(&self.objects, news.log, 0).await?;
            all.extend(rest.iter().cloned());
            // Before the end is passed on, which ends this program.
            for path in bring_back(&self.root, &all, &news.tree, &self.objects).await? {
                say(&FromBackend::Note(format!(
                    "`{path}` was changed here since the run began, and is left as it is; the artifact is in the state"
                )));
            }
        }
        let known = usize::try_from(self.count.saturating_sub(news.log.count)).unwrap_or(usize::MAX);
        events.extend(rest.into_iter().skip(known));
        files.extend(rest_files);
        files.retain(|file| !self.files.contains(file));
        write_files(&self.folder, &files, &self.objects).await?;
        self.files.extend(files);
        if events.is_empty() {
            return Ok(false);
        }
        for digest in events.iter().flat_map(|event| event_files(&event.fact)) {
            if !self.blobs.path(&digest).exists() {
                self.blobs.put_bytes(&self.objects.get(&digest).await?)?;
            }
        }
        self.count += events.len() as u64;
        say(&FromBackend::Events(events));
        Ok(true)
    }
}

/// Says something to the command that started this program.
pub fn say(message: &FromBackend) {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
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

fn refused(doing: &'static str, error: &impl std::fmt::Display) -> FollowError {
    FollowError::Server { doing, reason: error.to_string() }
}
