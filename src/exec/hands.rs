use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use super::attempt::{self, Gone, Job, Ties};
use super::keeper::{Keeper, Lost, Seat, Task, Wires};
use super::probe::{self, Probe, Probed};
use super::{Stop, Unable};
use crate::time::SystemClock;

/// Numbers what this process starts itself.
static STARTED: AtomicU64 = AtomicU64::new(1);

/// Who starts processes: this process itself, or a keeper that outlives it.
#[derive(Clone, Debug)]
pub enum Hands {
    /// This process. What it started dies with its futures.
    Own,
    /// A keeper.
    Keeper(Arc<Keeper>),
}

impl Hands {
    /// Fails if those who started processes are gone: what is said about processes then is not
    /// about them.
    pub fn hold(&self) -> Result<(), Lost> {
        match self {
            Self::Keeper(keeper) if keeper.is_lost() => Err(Lost),
            _ => Ok(()),
        }
    }

    /// The end of all that was done is recorded.
    pub fn settle(&self) {
        if let Self::Keeper(keeper) = self {
            keeper.settle();
        }
    }

    /// Ends all that is under way, at once.
    pub fn kill(&self) {
        if let Self::Keeper(keeper) = self {
            keeper.kill();
        }
    }

    /// Does the work of an attempt; `None`: it was staged and does not begin. This process itself
    /// counts nothing: what is staged begins at once.
    pub async fn run(
        &self,
        task: Task,
        job: Job,
        seat: Option<Seat>,
        wires: Wires,
    ) -> Result<Option<Gone>, Lost> {
        match self {
            Self::Own => {
                if let Some(staged) = wires.staged {
                    (staged.on_begin)();
                }
                let ties = Ties {
                    mark: own_mark(),
                    mask: job.mask(),
                    clock: Arc::new(SystemClock),
                    stop: wires.stop,
                    on_output: wires.on_output,
                    on_start: None,
                };
                Ok(Some(attempt::run(job, ties).await))
            }
            Self::Keeper(keeper) => keeper.run(task, job, seat, wires).await,
        }
    }

    /// The id of the keeper, if there is one.
    pub fn keeper(&self) -> Option<&str> {
        match self {
            Self::Own => None,
            Self::Keeper(keeper) => Some(keeper.id()),
        }
    }

    /// Runs something that does not outlive this process.
    pub async fn probe(&self, probe: Probe, stop: watch::Receiver<Stop>) -> Probed {
        match self {
            Self::Own => probe::run(probe, &own_mark(), stop).await,
            Self::Keeper(keeper) => match keeper.probe(probe, stop).await {
                Ok(probed) => probed,
                Err(lost) => Probed::silent(Unable::environmental(lost.to_string()).into()),
            },
        }
    }
}

/// What tells apart the trees that this process starts.
pub(super) fn own_mark() -> String {
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}
