//! The executor of work: this process itself, or a supervisor outliving it.

use std::sync::Arc;

use tokio::sync::watch;

use wf_base::time::SystemClock;

use super::attempt::{self, ProcessHooks, ProcessJob, ProcessOutcome};
use crate::{
    processes::{
        probe::{self, ProbeJob, ProbeOutcome},
        tree,
    },
    supervisor::{JobHooks, RunAttempt, SupervisorClient, SupervisorLost},
    work_error::{StopLevel, WorkError},
};

/// The owner of processes: this process itself, or a supervisor outliving it.
#[derive(Clone, Debug)]
pub enum ProcessExecutor {
    /// This process. The processes it started die with their futures.
    InProcess,
    Supervised(Arc<SupervisorClient>),
}

impl ProcessExecutor {
    /// Fails if the supervisor is gone: reports about its processes are then not reliable.
    pub fn ensure_supervised(&self) -> Result<(), SupervisorLost> {
        match self {
            Self::Supervised(supervisor) if supervisor.is_lost() => Err(SupervisorLost),
            _ => Ok(()),
        }
    }

    /// Declares all outcomes recorded.
    pub fn confirm_recorded(&self) {
        if let Self::Supervised(supervisor) = self {
            supervisor.confirm_recorded();
        }
    }

    /// Kills everything under way.
    pub fn kill(&self) {
        if let Self::Supervised(supervisor) = self {
            supervisor.kill();
        }
    }

    /// Lets everything die with this engine: nobody will ask for it again.
    pub fn bind(&self) {
        if let Self::Supervised(supervisor) = self {
            supervisor.bind();
        }
    }

    /// Runs the work of an attempt.
    pub async fn run(
        &self,
        attempt: RunAttempt,
        job: ProcessJob,
        hooks: JobHooks,
    ) -> Result<ProcessOutcome, SupervisorLost> {
        match self {
            Self::InProcess => {
                let process_hooks = ProcessHooks {
                    mark: tree::own_mark(),
                    mask: job.mask(),
                    clock: Arc::new(SystemClock),
                    stop: hooks.stop,
                    on_output: hooks.on_output,
                    on_start: None,
                };
                Ok(attempt::run(job, process_hooks).await)
            }
            Self::Supervised(supervisor) => supervisor.run_job(attempt, job, hooks).await,
        }
    }

    pub fn supervisor_id(&self) -> Option<&str> {
        match self {
            Self::InProcess => None,
            Self::Supervised(supervisor) => Some(supervisor.id()),
        }
    }

    /// Runs a probe that does not outlive this process.
    pub async fn probe(&self, probe: ProbeJob, stop: watch::Receiver<StopLevel>) -> ProbeOutcome {
        match self {
            Self::InProcess => probe::run(probe, &tree::own_mark(), stop).await,
            Self::Supervised(supervisor) => match supervisor.probe(probe, stop).await {
                Ok(probed) => probed,
                Err(lost) => ProbeOutcome::silent(WorkError::environmental(lost.to_string()).into()),
            },
        }
    }
}
