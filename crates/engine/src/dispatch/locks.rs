//! The locks of tasks: waits for those others hold, and releases.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use wf_base::{name::RunId, time::Moment};
use wf_core::{
    machine::{Effect, InputKind, LockHolder, TaskId, TaskLocks},
    observe::TaskRemark,
    ticket_queue::LockObstacle,
};
use wf_exec::supervisor::{self, SupervisorSearch};
use wf_model::ConversationUse;
use wf_store::LockAcquisition;

use super::dispatcher::RunDispatcher;
use crate::{
    run::RunContext,
    session::{EngineError, UnitResult},
};

/// The interval between two looks of the task that is next, and the limit on that of tasks further behind, which look less often.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(1);

impl RunDispatcher {
    /// Sets aside the requests for files, and returns the other effects. A request without an event shows nothing, and
    /// ends with this process: it need not wait until the decisions before it are durable. What it leads to can then be
    /// written with them. Locks about to be released are requested in order.
    pub(super) fn set_lock_tries_aside(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let released = effects.iter().filter_map(|effect| match effect {
            Effect::Unlock { task_id } => Some(task_id.clone()),
            _ => None,
        });
        let released: Vec<TaskId> = released.collect();
        let mut others = Vec::with_capacity(effects.len());
        for effect in effects {
            match effect {
                Effect::Lock { task_id, locks }
                    if locks.lock.is_none()
                        && !released.contains(&task_id)
                        && !self.is_releasing(&task_id) =>
                {
                    self.lock_tries.push((task_id, locks));
                }
                other => others.push(other),
            }
        }
        others
    }

    fn is_releasing(&self, task_id: &TaskId) -> bool {
        self.releasing_locks.contains_key(task_id) || self.releases(task_id)
    }

    /// Asks for the files of tasks. Those that are free let their tasks begin at once.
    pub(super) async fn try_locks(&mut self) -> Result<(), EngineError> {
        while !self.lock_tries.is_empty() {
            for (task_id, locks) in std::mem::take(&mut self.lock_tries) {
                let store = &self.run.session.store;
                match store.try_lock(&locks, &self.run.run_ref.id, &task_id).await? {
                    LockAcquisition::Acquired => {
                        self.process_input(Moment::default(), InputKind::Locked { task_id });
                    }
                    LockAcquisition::TakenOver(dead) => self.acquire_locks(task_id, locks, Some(dead)),
                    LockAcquisition::Held(_) | LockAcquisition::Refused(_) | LockAcquisition::Replaced(_) => {
                        let input = InputKind::LockHeld { task_id: task_id.clone() };
                        self.acquire_locks(task_id, locks, None);
                        self.process_input(Moment::default(), input);
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for the locks of a task; `dead`: it has them, and these holders from before may have left work under way.
    pub(super) fn acquire_locks(
        &mut self,
        task_id: TaskId,
        locks: TaskLocks,
        dead_holders: Option<Vec<LockHolder>>,
    ) {
        // In another round they are acquired only once they were released.
        let freeing = self.releasing_locks.remove(&task_id);
        let (run, task) = (Arc::clone(&self.run), task_id.clone());
        let waiter = self.spawn_unit(async move {
            if let Some(freeing) = freeing {
                let _ = freeing.await;
            }
            let waited = match dead_holders {
                Some(dead) => Ok(dead),
                None => wait(&run, &task, &in_session(&run, locks)).await?,
            };
            Ok(Some(match waited {
                Ok(dead) => {
                    outlast(&run, &task, dead).await;
                    InputKind::Locked { task_id: task }
                }
                Err(LockRefusal { reason, is_replaced }) => {
                    InputKind::LockRefused { task_id: task, reason, is_replaced }
                }
            }))
        });
        self.lock_waits.insert(task_id, waiter);
    }

    /// Releases the locks of a task, or ends its wait for them.
    pub(super) fn release_locks(&mut self, task_id: TaskId) {
        if let Some(waiter) = self.lock_waits.remove(&task_id) {
            waiter.abort();
        }
        let (freed, freeing) = oneshot::channel();
        self.releasing_locks.insert(task_id.clone(), freeing);
        self.spawn_unit(release(Arc::clone(&self.run), task_id, freed));
    }
}

/// Returns locks as they are held: a conversation of a session is another one in another session.
fn in_session(run: &RunContext, mut locks: TaskLocks) -> TaskLocks {
    if let (Some(session), Some(lock)) = (&run.session_name, &mut locks.lock)
        && lock.starts_with(ConversationUse::LOCK_PREFIX)
    {
        *lock = format!("{lock}@{session}");
    }
    locks
}

/// The reason why a task does not get its lock, and does not wait for it.
struct LockRefusal {
    reason: String,
    /// True if a newer run waits in its place.
    is_replaced: bool,
}

/// Waits until a task has its locks, or is refused. Returns their dead holders.
async fn wait(
    run: &RunContext,
    task_id: &TaskId,
    locks: &TaskLocks,
) -> Result<Result<Vec<LockHolder>, LockRefusal>, EngineError> {
    let name = locks.lock.as_deref().unwrap_or_default();
    let session = &run.session;
    let mut told_holder = None;
    loop {
        let freed = session.shared.locks.freed.notified();
        let look;
        match session.store.try_lock(locks, &run.run_ref.id, task_id).await? {
            LockAcquisition::Acquired => return Ok(Ok(Vec::new())),
            LockAcquisition::TakenOver(dead) => return Ok(Ok(dead)),
            LockAcquisition::Refused(LockObstacle { holder, .. }) => {
                let other = format!("step {} of run {}", holder.place, holder.run.short());
                let has = if holder.waits { "waits for" } else { "has" };
                let reason = format!("{other} {has} lock `{name}`, and the step has `when_busy: refuse`");
                return Ok(Err(LockRefusal { reason, is_replaced: false }));
            }
            LockAcquisition::Replaced(newer) => {
                let newer = newer.short();
                let reason =
                    format!("run {newer} waits for lock `{name}` in its place, as `when_busy: newest` says");
                return Ok(Err(LockRefusal { reason, is_replaced: true }));
            }
            LockAcquisition::Held(LockObstacle { holder, ahead, .. }) => {
                look =
                    POLL_INTERVAL.saturating_mul(u32::try_from(ahead).unwrap_or(u32::MAX).saturating_add(1));
                // One lock may have one holder after the other, and is one wait.
                if told_holder.as_ref() != Some(&holder.key) {
                    told_holder = Some(holder.key.clone());
                    let (this, remark) = (&run.run_ref, TaskRemark::LockHeld(holder));
                    session.observe(|observer| observer.remark(this, task_id, &remark));
                }
            }
        }
        let _ = tokio::time::timeout(look.min(MAX_POLL_INTERVAL), freed).await;
    }
}

/// Waits for the work that dead holders left under way.
async fn outlast(run: &RunContext, task_id: &TaskId, dead_holders: Vec<LockHolder>) {
    for holder in dead_holders {
        // Its own earlier work is taken over, not waited for.
        if holder.run != run.run_ref.id || holder.place != task_id.to_string() {
            outlast_task(run, &holder.run, &holder.place).await;
        }
    }
}

/// Waits for the work a dead engine left under way for a task.
pub(super) async fn outlast_task(run: &RunContext, of: &RunId, place: &str) {
    let session = &run.session;
    let dir = session.store.folder().keepers();
    let past = SupervisorSearch { dir: &dir, own: session.executor.supervisor_id(), supervisors: None };
    supervisor::outlast(past, of, place).await;
}

async fn release(run: Arc<RunContext>, task_id: TaskId, freed: oneshot::Sender<()>) -> UnitResult {
    let session = &run.session;
    session.store.unlock(&run.run_ref.id, &task_id).await?;
    session.shared.locks.freed.notify_waiters();
    drop(freed);
    Ok(None)
}
