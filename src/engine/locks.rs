use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::exec::keeper::{self, Past};
use crate::machine::{Happening, Place};
use crate::name::RunId;
use crate::store::{Store, StoreError, Taking};

use super::Remark;
use super::dispatch::Report;
use super::run::Ongoing;

/// The waits between two looks at a lock that another process holds.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// Waiting for named locks. Holders in this program wake waiters at once; holders in others are
/// looked at now and then.
#[derive(Default)]
pub(super) struct Locks {
    freed: Notify,
}

impl Locks {
    /// Holds a lock, as soon as nobody else does.
    pub(super) async fn hold(
        &self,
        ongoing: &Ongoing,
        lock: &str,
        place: &Place,
    ) -> Result<(), StoreError> {
        let (session, run) = (&ongoing.session, &ongoing.this.id);
        let store = &session.store;
        let mut told = false;
        let dir = store.folder().keepers();
        let past = Past {
            dir: &dir,
            own: session.hands.keeper(),
            meant_for: None,
        };
        let mut look = FIRST_LOOK;
        loop {
            let freed = self.freed.notified();
            match store.try_lock(lock, run, place).await? {
                Taking::Held if told => {}
                Taking::Held => {
                    told = true;
                    let remark = Remark::LockHeld(lock.to_owned());
                    let this = &ongoing.this;
                    session.observe(|observer| observer.remark(this, place, &remark));
                }
                Taking::Taken => return Ok(()),
                // Its own work of before is taken over, not waited for.
                Taking::TakenOver {
                    run: before,
                    place: was,
                } if before == *run && was == place.to_string() => {
                    return Ok(());
                }
                // The engine died, and what it did there may go on.
                Taking::TakenOver { run, place } => {
                    keeper::outlast(past, &run, &place).await;
                    return Ok(());
                }
            }
            let _ = tokio::time::timeout(look, freed).await;
            look = (look * 2).min(LONGEST_LOOK);
        }
    }

    /// Gives a lock back.
    pub(super) async fn free(
        &self,
        store: &Store,
        lock: &str,
        run: &RunId,
        place: &Place,
    ) -> Result<(), StoreError> {
        store.unlock(lock, run, place).await?;
        self.freed.notify_waiters();
        Ok(())
    }
}

/// Holds a lock for a place.
pub(super) async fn lock(run: Arc<Ongoing>, place: Place, lock: String) -> Report {
    let session = &run.session;
    session.locks.hold(&run, &lock, &place).await?;
    Ok(Some(Happening::Locked { place }))
}

/// Gives a lock back.
pub(super) async fn unlock(run: Arc<Ongoing>, place: Place, lock: String) -> Report {
    let session = &run.session;
    session
        .locks
        .free(&session.store, &lock, &run.this.id, &place)
        .await?;
    Ok(None)
}
