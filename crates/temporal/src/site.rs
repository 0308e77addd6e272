//! The runs that a worker works for: each in a folder of its own, with its files and a copy of its log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, OnceCell, watch};
use tokio::time::Instant;

use wf_app::session::open_session_for;
use wf_app::watch::AuditedSession;
use wf_app::{CommandError, Host, RunOptions, Workspace, load};
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_core::machine::{Attempt, Effect, Event, EventKind, InputKind};
use wf_engine::{EngineError, RunReplica, RunRequest, WorkInputs};
use wf_exec::StopLevel;
use wf_report::follow::CombinedObserver;
use wf_store::StoreError;

use crate::caller::WorkerCaller;
use crate::checkout::Checkout;
use crate::objects::{ObjectError, Objects};
use crate::order::{Job, LogPage, LogRef, Parcel, RunFile, RunSpec, WorkOrder, WorkReport};
use crate::plan::files;
use crate::run_folder::{RunFolder, write_files};
use crate::running::{RunningWork, WorkResult};
use crate::tree::ChangeSource;

/// The reason why a worker cannot do what it was ordered.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The object store does not do what it should.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The engine cannot.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The state of this worker cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run cannot be opened here.
    #[error("{0}")]
    Run(String),
}

impl From<CommandError> for WorkerError {
    fn from(error: CommandError) -> Self {
        Self::Run(error.message)
    }
}

/// The folders of a worker.
pub struct Sites {
    folder: PathBuf,
    host: Host,
    queue: String,
    objects: Objects,
    open: Mutex<BTreeMap<RunId, Arc<OnceCell<RunSite>>>>,
    opened: AtomicU64,
}

/// The time after which a run that no work came for is closed. It is opened anew if work comes.
const UNUSED: Duration = Duration::from_mins(10);

/// A run in its folder.
struct RunSite {
    checkout: AsyncMutex<Checkout>,
    replica: AsyncMutex<RunReplica>,
    run_folder: AsyncMutex<RunFolder>,
    running: RunningWork,
    used: Mutex<Instant>,
    session: AuditedSession,
    folder: PathBuf,
}

impl Sites {
    /// Takes a folder for the runs of a worker, which has a task queue of its own. What an earlier worker left in it is
    /// removed: its work counts as lost.
    pub fn new(folder: &Path, host: Host, queue: String, objects: Objects) -> Result<Self, ObjectError> {
        let failed = |cause| ObjectError::File { path: folder.display().to_string(), cause };
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => std::fs::create_dir_all(folder).map_err(failed)?,
        }
        Ok(Self {
            folder: folder.to_owned(),
            host,
            queue,
            objects,
            open: Mutex::default(),
            opened: AtomicU64::new(0),
        })
    }

    /// Does what was ordered. `is_again`: it was ordered before, of a worker that is lost.
    pub async fn work(
        &self,
        order: WorkOrder,
        is_again: bool,
        stop: watch::Receiver<StopLevel>,
    ) -> Result<WorkReport, WorkerError> {
        let cell = {
            let mut sites = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            sites.retain(|run, site| *run == order.run || !close_if_unused(site));
            Arc::clone(sites.entry(order.run.clone()).or_default())
        };
        let site = cell.get_or_try_init(|| self.open(&order)).await?;
        site.update(&order, &self.objects).await?;
        let job: Job = order.job.open(&self.objects).await?;
        if let Job::Effect(effect) = &job
            && let Effect::Watch { attempt, agent: Some(_), .. } = &**effect
        {
            site.restore_agent(attempt, order.log, &self.objects).await?;
        }
        let inputs = site.carry_out(job, is_again, stop).await?;
        self.report(site, inputs).await
    }

    /// Returns the report about work that goes on here without anybody who waits for it.
    pub fn report_left(&self) -> WorkReport {
        let inputs = Parcel::Inline(serde_json::Value::Array(Vec::new()));
        let host = self.queue.clone();
        let source = ChangeSource::default();
        WorkReport { inputs, change: None, source, files: Vec::new(), host, is_left: true }
    }

    async fn report(&self, site: &RunSite, inputs: Vec<InputKind>) -> Result<WorkReport, WorkerError> {
        let objects = &self.objects;
        for digest in inputs.iter().flat_map(stored_files) {
            let blobs = site.session.store.blobs();
            objects.put_file(&blobs.path(&digest), &digest).await?;
        }
        let files: Vec<RunFile> = site.run_folder.lock().await.take_new(objects).await?;
        let (source, change) = site.checkout.lock().await.take_change(objects).await?;
        let change = if change.0.is_empty() { None } else { Some(Parcel::pack(&change, objects).await?) };
        let inputs = Parcel::pack(&inputs, objects).await?;
        Ok(WorkReport { inputs, change, source, files, host: self.queue.clone(), is_left: false })
    }

    async fn open(&self, order: &WorkOrder) -> Result<RunSite, WorkerError> {
        let spec: RunSpec = self.objects.get_json(&order.spec).await?;
        // A run that comes back after its folder was removed gets another one: programs of it may still use that one.
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("{}-{number}", order.run));
        let (root, state) = (folder.join("workspace"), folder.join("state"));
        let copy = format!("{}/{}/{number}", self.queue, self.host.now().millis());
        let checkout = Checkout::create(&root, &spec.tree, copy, &self.objects).await?;
        let host = self.host.of_folder(&root, &state);
        let caller = WorkerCaller(host);
        let workspace = Workspace { root, state: state.clone() };
        let begun = RunOptions { is_continuation: true, ..RunOptions::recorded(&spec.config) };
        let ready = load::load_plan(&caller, &files(&spec), workspace, spec.path.clone(), begun)?;
        let observer = Box::new(CombinedObserver::default());
        let session = open_session_for(&caller, &ready, spec.approvers.clone(), true, observer)?;
        // The run goes on elsewhere if this worker dies, and with it the right to work for it.
        session.executor.bind();
        let request = RunRequest {
            run: order.run.clone(),
            plan: Arc::clone(&ready.plan),
            path: spec.path,
            sources: spec.sources,
            params: spec.params,
            session: None,
            past: None,
            approved: spec.approved,
            config: spec.config,
            claim: None,
        };
        let replica = RunReplica::open(&session, request).await?;
        let run_folder = RunFolder::new(session.store.folder().run(&order.run));
        Ok(RunSite {
            checkout: AsyncMutex::new(checkout),
            replica: AsyncMutex::new(replica),
            run_folder: AsyncMutex::new(run_folder),
            running: RunningWork::default(),
            used: Mutex::new(Instant::now()),
            session,
            folder,
        })
    }
}

/// Closes a run that nothing was done for in a while, and removes its folder. Returns true if it did.
fn close_if_unused(cell: &Arc<OnceCell<RunSite>>) -> bool {
    let Some(site) = cell.get() else { return false };
    let used = *site.used.lock().unwrap_or_else(PoisonError::into_inner);
    let is_unused = Arc::strong_count(cell) == 1 && site.running.is_idle() && used.elapsed() > UNUSED;
    if is_unused {
        let _ = std::fs::remove_dir_all(&site.folder);
    }
    is_unused
}

impl RunSite {
    /// Brings the files and the log to where the work begins.
    async fn update(&self, order: &WorkOrder, objects: &Objects) -> Result<(), WorkerError> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let mut replica = self.replica.lock().await;
        if replica.event_count() < order.log.count {
            let (events, _) = log_since(objects, order.log, replica.event_count()).await?;
            for event in &events {
                if let EventKind::AttemptStarted(attempt) = &event.fact {
                    // Its predecessor is over, and nobody asks for its result again.
                    self.running.forget_before(attempt);
                }
            }
            for digest in events.iter().flat_map(|event| event_files(&event.fact)) {
                restore_blob(&self.session, objects, &digest).await?;
            }
            replica.extend(events).await?;
        }
        Ok(self.checkout.lock().await.update(&order.tree, objects).await?)
    }

    /// Gets what an agent said and was told so far, from which its conversation is built anew.
    async fn restore_agent(
        &self,
        attempt: &Attempt,
        log: LogRef,
        objects: &Objects,
    ) -> Result<(), WorkerError> {
        self.running.forget(attempt);
        let run = self.replica.lock().await.id().clone();
        let state = self.session.store.folder();
        let (folder, calls) = (state.run(&run), state.calls(&run));
        let (_, mut files) = log_since(objects, log, 0).await?;
        files.retain(|file| folder.join(&file.path).starts_with(&calls));
        Ok(write_files(&folder, &files, objects).await?)
    }

    async fn carry_out(
        &self,
        job: Job,
        is_again: bool,
        stop: watch::Receiver<StopLevel>,
    ) -> Result<Vec<InputKind>, WorkerError> {
        let replica = self.replica.lock().await;
        let effect = match job {
            Job::Begin => return Ok(vec![replica.begin()?]),
            Job::Decide { ask, tokens } => return Ok(replica.decide(*ask, &tokens).await?),
            Job::Effect(effect) if is_again => self.again(*effect),
            Job::Effect(effect) => *effect,
        };
        // Work takes long, and other work needs the log meanwhile.
        if let Effect::Start { attempt, .. } | Effect::Watch { attempt, .. } = &effect {
            let attempt = attempt.clone();
            let wait = self.running.find_or_begin(&attempt, |heard| ended(replica.work(effect, heard)));
            drop(replica);
            return wait.wait(stop).await.map_err(|reason| {
                self.running.forget(&attempt);
                WorkerError::Run(reason)
            });
        }
        let work = replica.work(effect, stop);
        drop(replica);
        match work {
            Some(work) => Ok(work.await?),
            None => Ok(Vec::new()),
        }
    }

    /// Returns what is to be done about work whose worker was lost: nobody knows how far it went.
    fn again(&self, effect: Effect) -> Effect {
        match effect {
            Effect::Start { attempt, item_value, reads, correction, tool_args } => Effect::Watch {
                attempt,
                since: self.session.clock.now(),
                item_value,
                reads,
                correction,
                tool_args,
                agent: None,
                generated: None,
            },
            other => other,
        }
    }
}

/// Returns the result of work that may have to be remembered.
async fn ended(work: Option<impl Future<Output = Result<WorkInputs, EngineError>>>) -> WorkResult {
    match work {
        Some(work) => work.await.map_err(|error| error.to_string()),
        None => Ok(Vec::new()),
    }
}

/// Returns the events of a log after a number of them, and the files that came with them.
pub async fn log_since(
    objects: &Objects,
    log: LogRef,
    count: u64,
) -> Result<(Vec<Event>, Vec<RunFile>), ObjectError> {
    let mut pages = Vec::new();
    let mut next = log;
    while let Some(digest) = next.last
        && next.count > count
    {
        let page: LogPage = objects.get_json(&digest).await?;
        next = page.before;
        pages.push(page);
    }
    let known = usize::try_from(count.saturating_sub(next.count)).unwrap_or(usize::MAX);
    let (mut events, mut files) = (Vec::new(), Vec::new());
    for page in pages.into_iter().rev() {
        events.extend(page.events);
        files.extend(page.files);
    }
    Ok((events.into_iter().skip(known).collect(), files))
}

/// Puts a stored file of a run among those of this state, unless it is there.
pub async fn restore_blob(
    session: &AuditedSession,
    objects: &Objects,
    digest: &Sha256Digest,
) -> Result<(), WorkerError> {
    let blobs = session.store.blobs();
    if !blobs.path(digest).exists() {
        let content = objects.get(digest).await?;
        blobs.put_bytes(&content)?;
    }
    Ok(())
}

/// Returns the stored files that an event names.
pub fn event_files(fact: &EventKind) -> Vec<Sha256Digest> {
    let files = match fact {
        EventKind::AttemptEnded { artifacts, .. } => artifacts,
        EventKind::EvidenceTaken { files, .. } => files,
        _ => return Vec::new(),
    };
    files.iter().map(|file| file.digest).collect()
}

/// Returns the stored files that the result of work names.
fn stored_files(input: &InputKind) -> Vec<Sha256Digest> {
    let files = match input {
        InputKind::Ended(end) => &end.artifacts,
        _ => return Vec::new(),
    };
    files.iter().map(|file| file.digest).collect()
}
