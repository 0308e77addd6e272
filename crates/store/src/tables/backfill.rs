//! Scheduled times of the past started after all.

use rusqlite::Connection;

use crate::{
    column::{MomentColumn, RowColumns, integer},
    db::{store::Store, ticket::WriteTicket},
    query,
    tables::slots::{SlotRow, SlotTable, slot_row},
};
use wf_base::{name::PlanId, time::Moment};
use wf_core::goal::ReconciliationCause;
use wf_model::schedule::GoalSchedule;

impl SlotTable<&Store> {
    /// Makes past times due for a cause, except those the ledger has as started or due; returns their number.
    /// They must lie before the time up to which the ledger accounts.
    pub fn backfill(
        self,
        goal: &PlanId,
        slots: Vec<Moment>,
        cause: ReconciliationCause,
        now: Moment,
    ) -> WriteTicket<usize> {
        let goal = goal.clone();
        self.0.row_job(now, move |writing| {
            let mut due = 0;
            for slot in slots {
                split_slot_row(writing.connection, &goal, slot)?;
                due += AgainDue { goal: &goal, slot, cause, now }.write(writing.connection)?;
            }
            Ok(due)
        })
    }
}

/// A time that is due, though it was not started when it came.
struct AgainDue<'a> {
    goal: &'a PlanId,
    slot: Moment,
    cause: ReconciliationCause,
    now: Moment,
}

impl AgainDue<'_> {
    /// Makes it due, unless it was started or is due; returns the number of rows.
    fn write(&self, connection: &Connection) -> rusqlite::Result<usize> {
        connection
            .prepare_cached(
                "INSERT INTO slots (goal, slot, last_slot, count, state, cause, reason, at)
                 VALUES (?1, ?2, ?2, 1, 'queued', ?4, '', ?3)
                 ON CONFLICT DO UPDATE SET state = 'queued', cause = ?4, reason = '', at = ?3
                 WHERE state IN ('skipped', 'blocked', 'missed') AND count = 1",
            )?
            .execute((
                self.goal.as_str(),
                MomentColumn(self.slot),
                MomentColumn(self.now),
                self.cause.as_str(),
            ))
    }
}

/// Gives a scheduled time a row of its own if it shares one, which is split into one or two others.
fn split_slot_row(connection: &Connection, goal: &PlanId, slot: Moment) -> rusqlite::Result<()> {
    let sql = "SELECT * FROM slots WHERE goal = ?1 AND slot <= ?2 AND last_slot >= ?2 AND count > 1";
    let shared = query::first(connection, sql, (goal.as_str(), MomentColumn(slot)), slot_row)?;
    let sql = "SELECT timing FROM goals WHERE id = ?1";
    let timing: Option<GoalSchedule> = query::first(connection, sql, [goal.as_str()], |row| row.json(0))?;
    let (Some(row), Some(timing)) = (shared, timing) else {
        return Ok(());
    };
    let just_before = |at: Moment| Moment::from_millis(at.millis() - 1);
    let before = span(&timing, just_before(row.slot), just_before(slot));
    let own = span(&timing, just_before(slot), slot);
    let after = span(&timing, slot, row.last);
    let spans: Vec<SlotSpan> = [before, own, after].into_iter().flatten().collect();
    // The row comes from another schedule: its scheduled times are no longer known.
    if spans.iter().map(|part| part.count).sum::<u64>() != row.count {
        return Ok(());
    }
    let delete = "DELETE FROM slots WHERE goal = ?1 AND slot = ?2";
    connection.execute(delete, (goal.as_str(), MomentColumn(row.slot)))?;
    for part in spans {
        insert_part(connection, goal, &row, &part)?;
    }
    Ok(())
}

/// Consecutive scheduled times that share a row.
struct SlotSpan {
    first: Moment,
    last: Moment,
    count: u64,
}

/// Returns the scheduled times of an interval, if there are any.
fn span(schedule: &GoalSchedule, after: Moment, until: Moment) -> Option<SlotSpan> {
    let mut slots = schedule.slots(after, until);
    let first = slots.next()?.at;
    let alone = SlotSpan { first, last: first, count: 1 };
    Some(slots.fold(alone, |span, slot| SlotSpan { last: slot.at, count: span.count + 1, ..span }))
}

/// Inserts a part of a row that was split.
fn insert_part(
    connection: &Connection,
    goal: &PlanId,
    row: &SlotRow,
    span: &SlotSpan,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO slots (goal, slot, last_slot, count, state, cause, reason, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            goal.as_str(),
            MomentColumn(span.first),
            MomentColumn(span.last),
            integer(span.count),
            row.state.as_str(),
            row.cause.as_str(),
            &row.reason,
            MomentColumn(row.at),
        ))
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{LedgerGoal, Store, StoreDurability};
    use wf_base::{
        name::PlanId,
        time::{FixedClock, Moment},
    };
    use wf_core::goal::{ReconciliationCause, SlotDecision, SlotEntry, SlotState};
    use wf_model::schedule::{CronExpression, DstPolicy, GoalSchedule, ScheduleZone, TimingRule};

    fn minute(number: i64) -> Moment {
        Moment::from_millis(number * 60_000)
    }

    #[test]
    fn a_slot_that_shares_a_row_is_taken_out_of_it_once() {
        let dir = tempfile::tempdir().unwrap();
        let now = minute(100);
        let clock = Arc::new(FixedClock(now));
        let store = Store::open(dir.path(), StoreDurability::Normal, clock).unwrap();
        let id = PlanId::parse("goal").unwrap();
        let rule = TimingRule::Cron {
            expression: CronExpression::parse("* * * * *").unwrap(),
            zone: ScheduleZone::utc(),
            dst: DstPolicy::default(),
        };
        let note =
            LedgerGoal { id: id.clone(), path: "goals/goal.md".into(), schedule: GoalSchedule::of(rule) };
        let mut row = SlotEntry::of(minute(10), SlotState::Missed, ReconciliationCause::Schedule, "so");
        (row.last, row.count) = (minute(29), 20);
        let decision =
            SlotDecision { rows: vec![row], decided_until: minute(30), cancels_running: false, wake: None };
        let wrote = store.goals().record_decision(note, None, decision, None, now).wait();
        assert!(wrote.unwrap());
        let wanted = vec![minute(10), minute(15), minute(29), minute(15)];
        assert_eq!(store.slots().backfill(&id, wanted, ReconciliationCause::Backfill, now).wait(), Ok(3));
        let reader = store.reader().unwrap();
        let rows = reader.slots().between(&id, None, None).unwrap();
        let told: Vec<(i64, i64, u64, &str)> = rows
            .iter()
            .map(|row| {
                let at = |moment: Moment| moment.millis() / 60_000;
                (at(row.slot), at(row.last), row.count, row.state.as_str())
            })
            .collect();
        let expected = [
            (10, 10, 1, "queued"),
            (11, 14, 4, "missed"),
            (15, 15, 1, "queued"),
            (16, 28, 13, "missed"),
            (29, 29, 1, "queued"),
        ];
        assert_eq!(told, expected);
    }
}
