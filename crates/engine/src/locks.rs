use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use wf_base::name::RunId;
use wf_core::machine::{InputKind, TaskId};
use wf_exec::supervisor::{self, SupervisorSearch};
use wf_model::ConversationUse;
use wf_store::{LockAcquisition, Store, StoreError};

use super::dispatch::UnitResult;
use super::run::RunContext;
use wf_core::observe::TaskRemark;

/// The intervals between two looks at a lock that another process holds.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The waits for named locks. Holders in this program wake waiters at once; holders in others are
/// polled.
#[derive(Default)]
pub(super) struct NamedLocks {
    freed: Notify,
}

impl NamedLocks {
    /// Acquires a lock, as soon as it is free.
    pub(super) async fn acquire_lock(
        &self,
        ongoing: &RunContext,
        lock: &str,
        place: &TaskId,
    ) -> Result<(), StoreError> {
        let (session, run) = (&ongoing.session, &ongoing.run_ref.id);
        let store = &session.store;
        let mut is_reported = false;
        let dir = store.folder().keepers();
        let past = SupervisorSearch { dir: &dir, own: session.executor.supervisor_id(), supervisors: None };
        let mut look = FIRST_POLL_INTERVAL;
        loop {
            let freed = self.freed.notified();
            match store.try_lock(lock, run, place).await? {
                LockAcquisition::HeldByOther if is_reported => {}
                LockAcquisition::HeldByOther => {
                    is_reported = true;
                    let remark = TaskRemark::LockHeld(lock.to_owned());
                    let this = &ongoing.run_ref;
                    session.observe(|observer| observer.remark(this, place, &remark));
                }
                LockAcquisition::Acquired => return Ok(()),
                // A lock of its own earlier work is taken over, not waited for.
                LockAcquisition::TakenOver { run: before, place: was }
                    if before == *run && was == place.to_string() =>
                {
                    return Ok(());
                }
                // The engine died, and its work there may go on.
                LockAcquisition::TakenOver { run, place } => {
                    supervisor::outlast(past, &run, &place).await;
                    return Ok(());
                }
            }
            let _ = tokio::time::timeout(look, freed).await;
            look = (look * 2).min(MAX_POLL_INTERVAL);
        }
    }

    /// Releases a lock.
    pub(super) async fn release_lock(
        &self,
        store: &Store,
        lock: &str,
        run: &RunId,
        place: &TaskId,
    ) -> Result<(), StoreError> {
        store.unlock(lock, run, place).await?;
        self.freed.notify_waiters();
        Ok(())
    }
}

/// Returns the name under which a lock is held: a conversation of a session is another one in another session.
fn held_name(run: &RunContext, lock: String) -> String {
    match &run.session_name {
        Some(session) if lock.starts_with(ConversationUse::LOCK_PREFIX) => format!("{lock}@{session}"),
        _ => lock,
    }
}

/// Acquires a lock for a task.
pub(super) async fn lock(run: Arc<RunContext>, place: TaskId, lock: String) -> UnitResult {
    let session = &run.session;
    let lock = held_name(&run, lock);
    session.shared.locks.acquire_lock(&run, &lock, &place).await?;
    Ok(Some(InputKind::Locked { place }))
}

/// Releases a lock.
pub(super) async fn unlock(run: Arc<RunContext>, place: TaskId, lock: String) -> UnitResult {
    let session = &run.session;
    let lock = held_name(&run, lock);
    session.shared.locks.release_lock(&session.store, &lock, &run.run_ref.id, &place).await?;
    Ok(None)
}
