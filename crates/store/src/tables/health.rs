//! The health of what is called: the rows of the table `call_health`.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};

use crate::{
    db::{queue::WriterQueue, reader::StoreReader, ticket::WriteTicket},
    error::StoreError,
    query,
};
use wf_base::{keyword::Keyword, time::Moment};
use wf_core::health::{BreakerChange, CallEnd, CallTarget, OpenBreaker, TargetHealth, TargetKind};

/// The columns of a row, in the order in which [`read`] takes them.
const COLUMNS: &str = "kind, name, failures, open_until, succeeded_at, failed_at, error";

/// The health of what is called, for those who call. Each decision is read and written in one transaction, so all
/// processes go by the same rows.
#[derive(Clone, Debug)]
pub struct CallLedger {
    pub(crate) queue: WriterQueue,
}

impl CallLedger {
    /// Decides about a call: of all that ask when the time of an open breaker is over, one is admitted, to probe.
    pub fn admit(&self, target: CallTarget) -> WriteTicket<Result<(), OpenBreaker>> {
        self.change(target, TargetHealth::admit)
    }

    /// Notes the end of a call, and returns the change of the breaker.
    pub fn note(&self, target: CallTarget, end: CallEnd) -> WriteTicket<Option<BreakerChange>> {
        self.change(target, move |health, now| health.note(&end, now))
    }

    /// Applies a decision to the health of a target. What it leaves as it was is not written.
    fn change<T, D>(&self, target: CallTarget, decide: D) -> WriteTicket<T>
    where
        T: Send + 'static,
        D: FnOnce(&mut TargetHealth, Moment) -> T + Send + 'static,
    {
        self.queue.send(move |writing| {
            let before = load(writing.connection, &target)?;
            let mut health = before.clone();
            let decided = decide(&mut health, writing.writer.clock.now());
            if health != before {
                save(writing.connection, &target, &health)?;
            }
            Ok(decided)
        })
    }
}

pub(crate) fn read_all(reader: &StoreReader) -> Result<BTreeMap<CallTarget, TargetHealth>, StoreError> {
    let pair = |row: &Row<'_>| {
        let kind = TargetKind::from_word(row.get_ref(0)?.as_str()?);
        kind.map(|kind| Ok((CallTarget { kind, name: row.get(1)? }, read(row)?))).transpose()
    };
    let rows = reader.all(&format!("SELECT {COLUMNS} FROM call_health"), (), pair)?;
    Ok(rows.into_iter().flatten().collect())
}

fn load(connection: &Connection, target: &CallTarget) -> rusqlite::Result<TargetHealth> {
    let sql = format!("SELECT {COLUMNS} FROM call_health WHERE kind = ?1 AND name = ?2");
    let found = query::first(connection, &sql, (target.kind.as_str(), &target.name), read)?;
    Ok(found.unwrap_or_default())
}

fn save(connection: &Connection, target: &CallTarget, health: &TargetHealth) -> rusqlite::Result<()> {
    let millis = |moment: Option<Moment>| moment.map(Moment::millis);
    let sql = format!("INSERT OR REPLACE INTO call_health ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    connection
        .prepare_cached(&sql)?
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
}

/// Reads a row. A count no call can have left is none.
fn read(row: &Row<'_>) -> rusqlite::Result<TargetHealth> {
    let moment = |at: usize| row.get::<_, Option<i64>>(at).map(|millis| millis.map(Moment::from_millis));
    Ok(TargetHealth {
        failures: u32::try_from(row.get::<_, i64>(2)?).unwrap_or_default(),
        open_until: moment(3)?,
        succeeded_at: moment(4)?,
        failed_at: moment(5)?,
        error: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    use rusqlite::Connection;

    use crate::{Store, StoreDurability};
    use wf_base::time::{Clock, Moment};
    use wf_core::health::{BreakerChange, CallEnd, CallTarget, TargetHealth, TargetKind};

    /// A clock that a test sets, in seconds.
    #[derive(Default)]
    struct SetClock(Mutex<i64>);

    impl SetClock {
        fn set(&self, second: i64) {
            *self.0.lock().unwrap() = second;
        }
    }

    impl Clock for SetClock {
        fn now(&self) -> Moment {
            Moment::from_millis(*self.0.lock().unwrap() * 1_000)
        }
    }

    fn target(kind: TargetKind) -> CallTarget {
        CallTarget { kind, name: "strong".into() }
    }

    fn outage() -> CallEnd {
        CallEnd::Outage { error: "busy".into() }
    }

    #[test]
    fn of_two_processes_one_may_probe_and_both_see_what_it_finds() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock::default());
        let open = || Store::open(dir.path(), StoreDurability::Normal, Arc::clone(&clock) as _).unwrap();
        let stores = [open(), open()];
        let ledgers = stores.each_ref().map(Store::call_ledger);
        let admitted = |second: i64| {
            clock.set(second);
            let asked = ledgers.each_ref().map(|ledger| ledger.admit(target(TargetKind::Model)));
            asked.map(|ticket| ticket.wait().unwrap().is_ok())
        };
        let note = |at: usize, end: CallEnd| ledgers[at].note(target(TargetKind::Model), end).wait().unwrap();
        assert_eq!(admitted(0), [true, true]);
        assert_eq!((note(0, outage()), note(1, outage())), (None, None));
        let opened = |second: i64| Some(BreakerChange::Opened { until: Moment::from_millis(second * 1_000) });
        assert_eq!(note(0, outage()), opened(60));
        assert_eq!(admitted(59), [false, false]);
        assert_eq!(admitted(60).iter().filter(|is_admitted| **is_admitted).count(), 1);
        assert_eq!(note(1, outage()), opened(120));
        assert_eq!(admitted(119), [false, false]);
        assert_eq!(admitted(120).iter().filter(|is_admitted| **is_admitted).count(), 1);
        assert_eq!(note(0, CallEnd::Success), Some(BreakerChange::Closed));
        assert_eq!(admitted(121), [true, true]);
        // The targets of another kind are others, though they have the same name.
        assert_eq!(ledgers[0].note(target(TargetKind::McpServer), outage()).wait(), Ok(None));
        drop(stores);
        let all = open().reader().unwrap().health().unwrap();
        let found: Vec<_> = all.iter().map(|(target, health)| (target.kind, health.failures)).collect();
        assert_eq!(found, [(TargetKind::Model, 0), (TargetKind::McpServer, 1)]);
    }

    #[test]
    fn an_admission_that_changes_nothing_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), StoreDurability::Normal, Arc::new(SetClock::default())).unwrap();
        store.call_ledger().admit(target(TargetKind::Model)).wait().unwrap().unwrap();
        assert!(store.reader().unwrap().health().unwrap().is_empty());
    }

    #[test]
    fn nonsense_in_the_table_refuses_no_call_for_long_and_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock::default());
        let store = Store::open(dir.path(), StoreDurability::Normal, Arc::clone(&clock) as _).unwrap();
        #[expect(clippy::disallowed_methods, reason = "somebody else writes into the database")]
        let other = Connection::open(store.folder().database()).unwrap();
        let (highest, lowest) = (i64::MAX, i64::MIN);
        for (kind, name) in [("model", "strong"), ("connection", "\u{1b}[2J"), ("of a later version", "x")] {
            other
                .execute(
                    "INSERT INTO call_health VALUES (?1, ?2, -7, ?3, ?4, ?3, ?5)",
                    (kind, name, highest, lowest, "x".repeat(10_000)),
                )
                .unwrap();
        }
        assert_eq!(store.reader().unwrap().health().unwrap().len(), 2);
        let ledger = store.call_ledger();
        assert_eq!(ledger.admit(target(TargetKind::Model)).wait().unwrap(), Ok(()));
        let again = ledger.admit(target(TargetKind::Model)).wait().unwrap().unwrap_err();
        assert_eq!(again.until, Moment::default().after(TargetHealth::OPEN));
        clock.set(i64::try_from(Duration::from_mins(1).as_secs()).unwrap());
        assert_eq!(ledger.admit(target(TargetKind::Model)).wait().unwrap(), Ok(()));
        let closed = ledger.note(target(TargetKind::Model), CallEnd::Success).wait().unwrap();
        assert_eq!(closed, Some(BreakerChange::Closed));
    }
}
