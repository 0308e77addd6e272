//! A worker: it does the work of runs, and drives their workflows.

use std::{io::Write as _, path::PathBuf, sync::Arc, time::Duration};

use futures::future::try_join_all;
use temporalio_client::Client;
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};
use tokio::signal::unix::{SignalKind, signal};

use wf_app::{Host, config::Backend};

use crate::{
    files::objects::Objects,
    goals::{activities::GoalActivities, workflow::GoalWorkflow},
    host::{
        site::Sites,
        worker_life::{ActionText, WorkerLife},
    },
    run::{driver::DEFAULT_QUEUE, plan::RunPlans},
    workflows::{
        activities::{WorkActivities, WorkflowLedgers},
        lock_workflow::{LockActivities, LockWorkflow},
        waits::HOST_QUEUE,
        workflow::RunWorkflow,
    },
};

/// The time without work before the end of a worker told to end: its last reports are sent by then.
const IDLE: Duration = Duration::from_secs(10);

/// A worker's place.
pub struct WorkerPlace {
    /// The folder for its runs, which it alone uses.
    pub folder: PathBuf,
    /// The names of the queues whose steps it does.
    pub queues: Vec<String>,
    /// A name no other worker has.
    pub identity: String,
    /// Its environment.
    pub host: Host,
    /// The words for acts of people in its log.
    pub action_words: ActionText,
}

/// The reason why a worker ended.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFailure {
    /// The backend has no such queue.
    #[error("the backend has no queue `{queue}`; it has {known}")]
    Queue {
        queue: String,
        /// The existing queues.
        known: String,
    },
    /// The object store cannot be used.
    #[error(transparent)]
    Objects(#[from] crate::files::objects::ObjectError),
    /// The server does not accept it, or went away for good.
    #[error("the worker ended: {0}")]
    Worker(String),
}

/// Works until the process is told to end.
pub async fn work(backend: &Backend, client: Client, place: WorkerPlace) -> Result<(), WorkerFailure> {
    let WorkerPlace { folder, queues, identity, host, action_words } = place;
    let objects = Objects::open(&backend.objects)?;
    let own_queue = format!("{HOST_QUEUE}{identity}");
    let ledgers = Arc::new(WorkflowLedgers);
    let sites = Sites::new(&folder, host, action_words, own_queue.clone(), objects.clone(), ledgers)?;
    let sites = Arc::new(sites);
    let (plans, life) = (Arc::new(RunPlans::default()), Arc::new(WorkerLife::default()));
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default()).map_err(failed)?;
    let mut task_queues = vec![own_queue];
    for name in queues {
        let queue = backend.queues.get(&name).ok_or_else(|| WorkerFailure::Queue {
            queue: name.clone(),
            known: backend.queues.keys().cloned().collect::<Vec<_>>().join(", "),
        })?;
        task_queues.push(queue.clone());
    }
    let default = backend.queues.get(DEFAULT_QUEUE);
    let mut workers = Vec::new();
    for queue in &task_queues {
        let mut options = WorkerOptions::new(queue.clone())
            .client_identity_override(identity.clone())
            .register_activities(WorkActivities::new(Arc::clone(&sites), Arc::clone(&life)));
        if Some(queue) == default {
            let (shared, own) = (objects.clone(), Arc::clone(&plans));
            let create = move || RunWorkflow::new(shared.clone(), Arc::clone(&own));
            options = options.register_workflow_with_factory::<RunWorkflow, _>(create).map_err(failed)?;
            let shared = objects.clone();
            let create = move || LockWorkflow::new(shared.clone());
            options = options.register_workflow_with_factory::<LockWorkflow, _>(create).map_err(failed)?;
            options = options.register_activities(LockActivities::new(queue.clone()));
            let (shared, own) = (objects.clone(), Arc::clone(&plans));
            let create = move || GoalWorkflow::new(shared.clone(), Arc::clone(&own));
            options = options.register_workflow_with_factory::<GoalWorkflow, _>(create).map_err(failed)?;
            let goals = GoalActivities::new(Arc::clone(&sites), objects.clone(), Arc::clone(&life));
            options = options.register_activities(goals);
        }
        workers.push(Worker::new(&runtime, client.clone(), options.build()).map_err(failed)?);
    }
    log_line(&format!("{identity} works for {}", task_queues.join(", ")));
    run_until_told(workers, &life).await
}

/// Runs the workers of all queues until the process is told to end, and their work is over.
async fn run_until_told(mut workers: Vec<Worker>, life: &WorkerLife) -> Result<(), WorkerFailure> {
    let leave: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut running = std::pin::pin!(try_join_all(workers.iter_mut().map(Worker::run)));
    let mut is_leaving = false;
    loop {
        tokio::select! {
            ended = &mut running => return ended.map(drop).map_err(failed),
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            // Without a server, nobody tells the library that it may end.
            () = life.idle(IDLE), if is_leaving => return Ok(()),
        }
        if is_leaving {
            return Ok(());
        }
        is_leaving = true;
        life.end();
        log_line("takes no more work, and ends with what is under way; a second signal ends it at once");
        for leave in &leave {
            leave();
        }
    }
}

fn failed(error: impl std::fmt::Display) -> WorkerFailure {
    WorkerFailure::Worker(error.to_string())
}

/// Writes a line to standard error. If nobody reads it, nothing is lost: it is in the history, too.
pub fn log_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
