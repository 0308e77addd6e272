//! The permits of steps to execute, where the workspace limits how many do at once.
//!
//! A unit of work of a step asks for one before it begins, and gives it back when it has ended. Locks come first: a
//! task has its own before its attempt starts, so nobody who has a permit waits for a lock.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_core::{machine::TaskId, observe::TaskRemark};
use wf_exec::StopLevel;
use wf_store::PermitAnswer;

use super::locks;
use crate::{
    run::RunContext,
    session::{EngineError, UnitResult, waiting::wait_for_stop},
};

/// The intervals between two requests, while other processes have all permits.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(20);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The wait after which a step says what it waits for.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// Does work under a permit. Work that is told to end before it has one ends at once, and needs none.
pub(super) async fn execute<F>(
    run: Arc<RunContext>,
    task_id: TaskId,
    stop: watch::Receiver<StopLevel>,
    work: F,
) -> UnitResult
where
    F: Future<Output = UnitResult>,
{
    tokio::select! {
        biased;
        () = wait_for_stop(stop) => {
            give_back(&run, &task_id).await?;
            return work.await;
        }
        permit = acquire(&run, &task_id) => permit?,
    }
    let ended = work.await;
    give_back(&run, &task_id).await?;
    ended
}

/// Gives back the permit of a task, or ends its wait for one.
async fn give_back(run: &RunContext, task_id: &TaskId) -> Result<(), EngineError> {
    let session = &run.session;
    session.store.return_permit(&run.run_ref.id, task_id).await?;
    session.shared.permits.freed.notify_waiters();
    Ok(())
}

/// Waits until a task has a permit, and the work the last holder may have left has ended.
async fn acquire(run: &RunContext, task_id: &TaskId) -> Result<(), EngineError> {
    let session = &run.session;
    let permits = &session.shared.permits;
    let began = tokio::time::Instant::now();
    let (mut is_told, mut look) = (false, FIRST_POLL_INTERVAL);
    loop {
        let freed = permits.freed.notified();
        match session.store.try_permit(permits.limits, &run.run_ref.id, task_id).await? {
            PermitAnswer::Given { previous_task: after } => {
                if let Some(dead) = after {
                    locks::outlast_task(run, &dead.run, &dead.place).await;
                }
                return Ok(());
            }
            PermitAnswer::Waits(limit) => {
                if !is_told && began.elapsed() >= LONG_WAIT {
                    is_told = true;
                    let limit = limit.and_then(|limit| Some((limit, permits.limits.value(limit)?)));
                    let (this, remark) = (&run.run_ref, TaskRemark::PermitAwaited(limit));
                    session.observe(|observer| observer.remark(this, task_id, &remark));
                }
            }
        }
        let _ = tokio::time::timeout(look, freed).await;
        look = (look * 2).min(MAX_POLL_INTERVAL);
    }
}
