//! The health of what is called: the rows of the table `call_health`.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::{Store, StoreError, StoreReader, WriteTicket};
use wf_base::keyword::Keyword;
use wf_base::time::Moment;
use wf_core::health::{CallTarget, TargetHealth, TargetKind};

impl Store {
    /// Records the health of a target, in place of what is known of it.
    pub fn record_health(&self, target: CallTarget, health: TargetHealth) -> WriteTicket<()> {
        self.sql(move |writing| {
            let millis = |moment: Option<Moment>| moment.map(Moment::millis);
            writing
                .connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO call_health
                     (kind, name, failures, open_until, succeeded_at, failed_at, error)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute((
                    target.kind.as_str(),
                    &target.name,
                    health.failures,
                    millis(health.open_until),
                    millis(health.succeeded_at),
                    millis(health.failed_at),
                    &health.error,
                ))
                .map(drop)
        })
    }
}

impl StoreReader {
    /// Returns the health of all targets that were called. Kinds that a later version adds are left out.
    pub fn health(&self) -> Result<BTreeMap<CallTarget, TargetHealth>, StoreError> {
        let sql = "SELECT kind, name, failures, open_until, succeeded_at, failed_at, error FROM call_health";
        Ok(self.all(sql, (), read)?.into_iter().flatten().collect())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<(CallTarget, TargetHealth)>> {
    let Some(kind) = TargetKind::from_word(row.get_ref(0)?.as_str()?) else {
        return Ok(None);
    };
    let moment = |at: usize| row.get::<_, Option<i64>>(at).map(|millis| millis.map(Moment::from_millis));
    let health = TargetHealth {
        failures: row.get(2)?,
        open_until: moment(3)?,
        succeeded_at: moment(4)?,
        failed_at: moment(5)?,
        error: row.get(6)?,
    };
    Ok(Some((CallTarget { kind, name: row.get(1)? }, health)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Store, StoreDurability};
    use wf_base::time::{FixedClock, Moment};
    use wf_core::health::{CallTarget, TargetHealth, TargetKind};

    #[test]
    fn the_health_of_a_target_outlives_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(FixedClock(Moment::default()));
        let target = CallTarget { kind: TargetKind::Model, name: "strong".into() };
        let mut health = TargetHealth::default();
        health.note_success(Moment::from_millis(1));
        let open = || Store::open(dir.path(), StoreDurability::Normal, Arc::clone(&clock) as _).unwrap();
        let store = open();
        store.record_health(target.clone(), health.clone()).wait().unwrap();
        for millis in 2..5 {
            health.note_failure(true, "busy", Moment::from_millis(millis));
        }
        // Nobody waits for it: the store writes what is queued before it closes.
        drop(store.record_health(target.clone(), health.clone()));
        drop(store);
        let all = open().reader().unwrap().health().unwrap();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), [(target, health)]);
    }
}
