//! The runs of a worker: each in a folder of its own, with its files and a copy of its log.

mod found;
mod session;
mod worktrees;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell, watch},
    time::Instant,
};

use wf_app::{CommandError, Host, RunOptions, Workspace, lineage::repeated_run, load, watch::AuditedSession};
use wf_base::name::RunId;
use wf_core::machine::{Attempt, Effect};
use wf_engine::{CarriedState, EngineError, RunFamily, RunRequest, SharedLedgers, WorkInputs};
use wf_exec::{StopLevel, supervisor::RunAttempt};
use wf_store::{StoreDurability, StoreError};

use crate::{
    files::{
        checkout::{Checkout, Looks},
        findings::{FindingSource, LookSpan},
        objects::{ObjectError, Objects},
        parcel::Parcel,
    },
    host::{
        run_folder::{RunFolder, write_files},
        running::{RunningWork, WorkResult},
        site_family::{SiteFamily, StoredFile},
        worker_life::{ActionText, WorkerCaller},
    },
    messages::order::{BegunRunMark, Job, NestedRunBeginning, RunSpec, WorkOrder, WorkReport},
    run::{log::log_since, open_work::nested_path, plan::files},
};
use found::FoundFiles;

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
    action_words: ActionText,
    queue: String,
    objects: Objects,
    ledgers: Arc<dyn SharedLedgers>,
    open: Mutex<BTreeMap<RunId, Arc<OnceCell<RunSite>>>>,
    opened: AtomicU64,
}

/// The time after which a run no work came for is closed. It is opened anew if work comes.
const UNUSED: Duration = Duration::from_mins(10);

/// A run in its folder.
struct RunSite {
    checkout: AsyncMutex<Checkout>,
    looks: Looks,
    family: AsyncMutex<SiteFamily>,
    run_folders: AsyncMutex<BTreeMap<RunId, RunFolder>>,
    running: RunningWork,
    used: Mutex<Instant>,
    session: AuditedSession,
    folder: PathBuf,
}

/// The result of work.
struct WorkDone {
    inputs: WorkInputs,
    nested: Option<NestedRunBeginning>,
    /// The number of looks at the files before it.
    looks: u64,
}

impl Sites {
    /// Takes a folder for the runs of a worker, which has a task queue of its own. What an earlier worker left in it is
    /// removed: its work counts as lost.
    pub fn new(
        folder: &Path,
        host: Host,
        action_words: ActionText,
        queue: String,
        objects: Objects,
        ledgers: Arc<dyn SharedLedgers>,
    ) -> Result<Self, ObjectError> {
        let failed = |cause| ObjectError::File { path: folder.display().to_string(), cause };
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => std::fs::create_dir_all(folder).map_err(failed)?,
        }
        Ok(Self {
            folder: folder.to_owned(),
            host,
            action_words,
            queue,
            objects,
            ledgers,
            open: Mutex::default(),
            opened: AtomicU64::new(0),
        })
    }

    /// Carries out the order. `is_again`: it was ordered before, of a worker that is lost.
    pub async fn work(
        &self,
        order: WorkOrder,
        is_again: bool,
        stop: watch::Receiver<StopLevel>,
    ) -> Result<WorkReport, WorkerError> {
        let cell = {
            let mut sites = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            sites.retain(|run, site| *run == order.outermost || !close_if_unused(site));
            Arc::clone(sites.entry(order.outermost.clone()).or_default())
        };
        let site = cell.get_or_try_init(|| self.open(&order)).await?;
        site.update(&order, &self.objects).await?;
        let job: Job = order.job.clone().open(&self.objects).await?;
        let mut saves = false;
        if let Job::Effect(effect) = &job {
            site.restore(&order, effect, &self.objects).await?;
            site.restore_worktree(&order, effect, &self.objects).await?;
            saves = matches!(**effect, Effect::CallTool(_) | Effect::ServeClient(_));
        }
        let attempt = job.attempt();
        let done = site.carry_out(&order.run, job, is_again, &self.objects, stop).await?;
        if let Some(attempt) = attempt.as_ref().filter(|_| saves) {
            site.save_worktree(&order.run, attempt).await?;
        }
        self.report(site, &order.run, attempt.as_ref(), done).await
    }

    /// Returns the report about work going on here without anybody who waits for it.
    pub fn report_left(&self) -> WorkReport {
        let inputs = Parcel::Inline(serde_json::Value::Array(Vec::new()));
        let host = self.queue.clone();
        let (source, files) = (FindingSource::default(), Vec::new());
        WorkReport { inputs, nested: None, source, files, additions: None, host, is_left: true, ended: None }
    }

    async fn report(
        &self,
        site: &RunSite,
        run: &RunId,
        attempt: Option<&Attempt>,
        done: WorkDone,
    ) -> Result<WorkReport, WorkerError> {
        let (objects, ended_after) = (&self.objects, site.looks.count());
        let WorkDone { inputs, nested, looks: first } = done;
        let family = site.family.lock().await;
        let stored = family.stored_files(run, &inputs, &site.session)?;
        site.run_folders.lock().await.retain(|folder_run, _| family.replica(folder_run).is_ok());
        drop(family);
        for StoredFile { path, digest } in stored {
            objects.put_file(&path, &digest).await?;
        }
        let looks = LookSpan { first, last: ended_after + 1 };
        let FoundFiles { own_files: files, source } = site.find(run, attempt, looks, objects).await?;
        let inputs = Parcel::pack(&inputs, objects).await?;
        let nested = match nested {
            Some(nested) => Some(Parcel::pack(&nested, objects).await?),
            None => None,
        };
        let (additions, host) = (site.take_additions(run, objects).await?, self.queue.clone());
        Ok(WorkReport { inputs, nested, source, files, additions, host, is_left: false, ended: None })
    }

    async fn open(&self, order: &WorkOrder) -> Result<RunSite, WorkerError> {
        let spec: RunSpec = self.objects.get_json(&order.spec).await?;
        // A run that comes back after its folder was removed gets another one: programs of it may still use that one.
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(format!("{}-{number}", order.outermost));
        let (root, state) = (folder.join("workspace"), folder.join("state"));
        let copy = format!("{}/{}/{number}", self.queue, self.host.now().millis());
        let checkout = Checkout::create(&root, &spec.tree, copy, &self.objects).await?;
        let host = self.host.of_folder(&root, &state);
        let caller = WorkerCaller { host, action_words: self.action_words };
        let workspace = Workspace { root, state: state.clone() };
        // Its folder is emptied when a worker starts, so what it has need not outlive a loss of power.
        let durability = Some(StoreDurability::Normal);
        let begun = RunOptions { is_continuation: true, durability, ..RunOptions::recorded(&spec.config) };
        let loaded = load::load_plan(&caller, &files(&spec), workspace, spec.path.clone(), begun)?;
        let session = self.open_session(&caller, &loaded, &spec).await?;
        let state: CarriedState = match &spec.state {
            Some(state) => self.objects.get_json(state).await?,
            None => CarriedState::default(),
        };
        state.take_in(&session).await?;
        let past = match &state.past.repeated {
            Some(old) => {
                let reader = session.store.log_reader()?;
                Some(repeated_run(&reader, old, &loaded.plan, &spec.config, &spec.params)?)
            }
            None => None,
        };
        let request = RunRequest {
            run: order.outermost.clone(),
            plan: Arc::clone(&loaded.plan),
            path: spec.path,
            sources: spec.sources,
            params: spec.params,
            session: state.session,
            repeated_run: past,
            approved: spec.approved,
            config: spec.config,
            claim: None,
            begun: None,
            tracked: None,
        };
        let runs = RunFamily::open(&session, request).await?;
        Ok(RunSite {
            looks: checkout.looks(),
            checkout: AsyncMutex::new(checkout),
            family: AsyncMutex::new(SiteFamily::new(runs)),
            run_folders: AsyncMutex::default(),
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
        let mut family = self.family.lock().await;
        family.update(order.log, &self.session, objects).await?;
        drop(family);
        Ok(self.checkout.lock().await.update(&order.tree, objects).await?)
    }

    /// Gets what an agent said and was told so far, from which its conversation is built anew, and the turns of the
    /// conversation it continues.
    async fn restore(
        &self,
        order: &WorkOrder,
        effect: &Effect,
        objects: &Objects,
    ) -> Result<(), WorkerError> {
        let (attempt, is_at_work) = match effect {
            Effect::Start { attempt, .. } => (attempt, false),
            Effect::Watch { attempt, agent, .. } => (attempt, agent.is_some()),
            _ => return Ok(()),
        };
        let continues = self.family.lock().await.replica(&order.run)?.continues_conversation(attempt);
        if !is_at_work && !continues {
            return Ok(());
        }
        if is_at_work {
            self.running.forget(&RunAttempt { run: order.run.clone(), attempt: attempt.clone() });
        }
        let state = self.session.store.folder();
        let folders = [state.calls(&order.run), state.carried_conversations(&order.outermost)];
        let runs = state.runs();
        let mut files = log_since(objects, order.log, 0).await?.files;
        files.retain(|file| folders.iter().any(|folder| runs.join(&file.path).starts_with(folder)));
        Ok(write_files(&runs, &files, objects).await?)
    }

    async fn carry_out(
        &self,
        run: &RunId,
        job: Job,
        is_again: bool,
        objects: &Objects,
        stop: watch::Receiver<StopLevel>,
    ) -> Result<WorkDone, WorkerError> {
        let looks = self.looks.count();
        let done = |inputs| WorkDone { inputs, nested: None, looks };
        let family = self.family.lock().await;
        let replica = family.replica(run)?;
        let effect = match job {
            Job::Begin => {
                objects.put_json(&BegunRunMark { begun: run.clone() }).await?;
                return Ok(done(vec![replica.begin()?]));
            }
            Job::Decide { ask, tokens } => return Ok(done(replica.decide(*ask, &tokens).await?)),
            Job::EndNested { effect, timed_out } => {
                let nested = run.child(&nested_path(&effect).unwrap_or_default());
                let work = replica.end_nested(*effect, family.replica(&nested)?, timed_out);
                drop(family);
                return Ok(done(work.await?));
            }
            Job::Effect(effect) if is_again => self.again(*effect),
            Job::Effect(effect) => *effect,
        };
        if replica.is_nested_work(&effect) {
            let work = replica.begin_nested(effect);
            drop(family);
            let (inputs, nested) = work.await?;
            let nested = match nested {
                Some(nested) => Some(self.family.lock().await.begin_nested(nested)?),
                None => None,
            };
            return Ok(WorkDone { nested, ..done(inputs) });
        }
        // Work takes long, and other work needs the log meanwhile.
        if let Effect::Start { attempt, .. } | Effect::Watch { attempt, .. } = &effect {
            let attempt = RunAttempt { run: run.clone(), attempt: attempt.clone() };
            // Its predecessor is over, and nobody asks for its result again.
            self.running.forget_before(&attempt);
            let begin = |heard| ended(replica.work(effect, heard));
            let wait = self.running.find_or_begin(&attempt, looks, begin);
            drop(family);
            let looks = wait.looks;
            let inputs = wait.wait(stop).await.map_err(|reason| {
                self.running.forget(&attempt);
                WorkerError::Run(reason)
            });
            return Ok(WorkDone { looks, ..done(inputs?) });
        }
        let work = replica.work(effect, stop);
        drop(family);
        let inputs = match work {
            Some(work) => work.await?,
            None => WorkInputs::new(),
        };
        Ok(done(inputs))
    }

    /// Returns the remedy for work of a lost worker: nobody knows how far it went.
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
