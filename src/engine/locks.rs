use std::time::Duration;

use tokio::sync::Notify;

use crate::machine::Place;
use crate::name::RunId;
use crate::store::{Store, StoreError, Taking};

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
        store: &Store,
        lock: &str,
        run: &RunId,
        place: &Place,
    ) -> Result<(), StoreError> {
        let mut look = FIRST_LOOK;
        loop {
            let freed = self.freed.notified();
            if store.try_lock(lock, run, place).await? != Taking::Held {
                return Ok(());
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
