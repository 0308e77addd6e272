use rusqlite::Row;

use crate::{
    column::{RowColumns, integer},
    db::reader::StoreReader,
    error::StoreError,
    log::{
        state_event::{GoneBodiesOnDemand, KEYS, StateEvent, StateFact},
        tail::{LogPosition, LogTail},
    },
    query,
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
};
use wf_core::machine::Event;

/// A row of the log, as far as its content is known.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRow {
    pub position: LogPosition,
    /// The number in its run; 0: the row recording the run.
    pub n: u64,
    /// The event; `None`: the row records a run, was pruned, or cannot be read.
    pub event: Option<Event>,
    /// The event about the state as a whole, without what was erased; `None`: the row belongs to a run.
    pub state: Option<StateEvent>,
    /// The run; `None`: it was pruned, or the row belongs to none.
    pub run: Option<RunId>,
    /// The plan of its run.
    pub plan: Option<PlanId>,
    /// The run and the attempt its run is nested in.
    pub parent: Option<(RunId, String)>,
}

/// The log, in its order.
#[derive(Clone, Copy, Debug)]
pub struct LogTable<S>(pub(crate) S);

impl LogTable<&StoreReader> {
    /// Returns at most `most` rows of the log after a position, in order.
    pub fn rows(self, after: u64, most: usize) -> Result<Vec<LogRow>, StoreError> {
        let sql = "SELECT seq, hash, run_seq, body, runs.id, plan, parent, parent_attempt
             FROM events LEFT JOIN runs ON runs.key = run
             WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let (after, most) = (integer(after), integer(most));
        let rows = || -> rusqlite::Result<_> {
            let mut log_rows = query::all(self.0.connection(), sql, (after, most), read)?;
            self.add_what_is_left(&mut log_rows)?;
            Ok(log_rows)
        };
        rows().map_err(|error| self.0.failed(error))
    }

    /// Returns the number of the event recording the oldest run which was not pruned.
    pub fn first_kept_run(self) -> Result<Option<u64>, StoreError> {
        let sql = format!(
            "{KEYS} SELECT key FROM keys JOIN events ON run = key AND run_seq = 0
             WHERE body IS NOT NULL AND kind IS NULL LIMIT 1"
        );
        let found: Option<i64> = self.0.query_one(&sql, [], |row| row.get(0))?;
        Ok(found.map(i64::unsigned_abs))
    }

    /// Returns at most `most` positions of the log after one, in order.
    pub fn positions(self, after: u64, most: usize) -> Result<Vec<LogPosition>, StoreError> {
        let sql = "SELECT seq, hash FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let (after, most) = (integer(after), integer(most));
        self.0.all(sql, (after, most), place)
    }

    /// Returns the position of the last event of the log.
    pub fn end(self) -> Result<Option<LogPosition>, StoreError> {
        let tail = self.0.query(LogTail::read)?;
        Ok((tail.seq > 0).then(|| LogPosition::from(&tail)))
    }

    /// Shows erased events as what is left of them.
    fn add_what_is_left(self, log_rows: &mut [LogRow]) -> rusqlite::Result<()> {
        let mut gone = GoneBodiesOnDemand::default();
        for row in log_rows.iter_mut().filter(|row| row.n == 0 && row.run.is_none() && row.state.is_none()) {
            let seq = integer(row.position.seq);
            row.state = gone.get(self.0.connection())?.rows.get(&seq).map(|left| StateEvent {
                at: left.at,
                fact: StateFact::RowsRecorded { whole: None, tables: left.tables.clone() },
            });
        }
        Ok(())
    }
}

fn place(row: &Row<'_>) -> rusqlite::Result<LogPosition> {
    Ok(LogPosition {
        seq: row.get::<_, i64>(0)?.unsigned_abs(),
        hash: Sha256Digest::from(row.get::<_, [u8; 32]>(1)?),
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<LogRow> {
    let n = row.get::<_, i64>(2)?.unsigned_abs();
    let body = row.get_ref(3)?.as_str_or_null()?;
    let parent: Option<String> = row.get(6)?;
    let attempt: Option<String> = row.get(7)?;
    let plan: Option<String> = row.get(5)?;
    Ok(LogRow {
        position: place(row)?,
        n,
        event: body.filter(|_| n > 0).and_then(|body| serde_json::from_str(body).ok()),
        state: body.filter(|_| n == 0).and_then(|body| serde_json::from_str(body).ok()),
        run: row.run_if(4)?,
        plan: plan.and_then(|plan| PlanId::parse(&plan).ok()),
        parent: parent.map(RunId::from_stored).zip(attempt),
    })
}
