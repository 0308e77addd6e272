//! Slots of the past that are to begin after all.

use rusqlite::{Connection, OptionalExtension};

use super::column::{At, Json};
use super::goals::slot_row;
use super::{SlotRow, Store, Ticket};
use crate::name::PlanId;
use crate::schedule::Timing;
use crate::time::Moment;

impl Store {
    /// Makes slots of the past due, each that is not in the ledger as begun or due; answers how
    /// many. They must lie before what is accounted for.
    pub fn backfill(&self, goal: &PlanId, slots: Vec<Moment>, now: Moment) -> Ticket<usize> {
        let goal = goal.clone();
        self.sql(move |writing| {
            let mut due = 0;
            for slot in &slots {
                set_apart(writing.connection, &goal, *slot)?;
                due += again(writing.connection, &goal, *slot, now)?;
            }
            Ok(due)
        })
    }
}

/// Makes a slot due again that did not begin.
fn again(
    connection: &Connection,
    goal: &PlanId,
    slot: Moment,
    now: Moment,
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "INSERT INTO slots (goal, slot, last, count, state, cause, why, at)
             VALUES (?1, ?2, ?2, 1, 'queued', 'backfill', '', ?3)
             ON CONFLICT DO UPDATE SET state = 'queued', cause = 'backfill', why = '', at = ?3
             WHERE state IN ('skipped', 'missed') AND count = 1",
        )?
        .execute((goal.as_str(), At(slot), At(now)))
}

/// Gives a slot a row of its own, if it shares one: what is left of that becomes one or two.
fn set_apart(connection: &Connection, goal: &PlanId, slot: Moment) -> rusqlite::Result<()> {
    let sql = "SELECT * FROM slots WHERE goal = ?1 AND slot <= ?2 AND last >= ?2 AND count > 1";
    let shared = connection
        .prepare_cached(sql)?
        .query_row((goal.as_str(), At(slot)), slot_row)
        .optional()?;
    let sql = "SELECT timing FROM goals WHERE id = ?1";
    let timing: Option<Json<Timing>> = connection
        .prepare_cached(sql)?
        .query_row([goal.as_str()], |row| row.get(0))
        .optional()?;
    let (Some(row), Some(Json(timing))) = (shared, timing) else {
        return Ok(());
    };
    let just_before = |at: Moment| Moment::from_millis(at.millis() - 1);
    let before = run(&timing, (just_before(row.slot), just_before(slot)));
    let own = run(&timing, (just_before(slot), slot));
    let after = run(&timing, (slot, row.last));
    let parts: Vec<(Moment, Moment, u64)> = [before, own, after].into_iter().flatten().collect();
    // The row is of another schedule: nobody can say any more what its slots were.
    if parts.iter().map(|part| part.2).sum::<u64>() != row.count {
        return Ok(());
    }
    let delete = "DELETE FROM slots WHERE goal = ?1 AND slot = ?2";
    connection.execute(delete, (goal.as_str(), At(row.slot)))?;
    for part in parts {
        put(connection, goal, (&row, part))?;
    }
    Ok(())
}

/// The first slot of an interval, the last, and how many there are.
fn run(timing: &Timing, (after, until): (Moment, Moment)) -> Option<(Moment, Moment, u64)> {
    let mut slots = timing.slots(after, until);
    let first = slots.next()?.at;
    Some(slots.fold((first, first, 1), |(first, _, count), slot| {
        (first, slot.at, count + 1)
    }))
}

fn put(
    connection: &Connection,
    goal: &PlanId,
    (row, (slot, last, count)): (&SlotRow, (Moment, Moment, u64)),
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO slots (goal, slot, last, count, state, cause, why, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            goal.as_str(),
            At(slot),
            At(last),
            i64::try_from(count).unwrap_or(i64::MAX),
            row.state.as_str(),
            row.cause.as_str(),
            &row.why,
            At(row.at),
        ))
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::goal::{Cause, Decision, Row, SlotState};
    use crate::name::PlanId;
    use crate::schedule::{Cron, Dst, Timing, When, Zone};
    use crate::store::{Durability, GoalNote, Store};
    use crate::time::{FixedClock, Moment};

    fn minute(number: i64) -> Moment {
        Moment::from_millis(number * 60_000)
    }

    #[test]
    fn a_slot_that_shares_a_row_is_taken_out_of_it_once() {
        let dir = tempfile::tempdir().unwrap();
        let now = minute(100);
        let clock = Arc::new(FixedClock(now));
        let store = Store::open(dir.path(), Durability::Normal, clock).unwrap();
        let id = PlanId::parse("goal").unwrap();
        let rule = When::Cron {
            expression: Cron::parse("* * * * *").unwrap(),
            zone: Zone::utc(),
            dst: Dst::default(),
        };
        let note = GoalNote {
            id: id.clone(),
            path: "goals/goal.md".into(),
            timing: Timing::of(rule),
        };
        let mut row = Row::of(minute(10), SlotState::Missed, Cause::Schedule, "so");
        (row.last, row.count) = (minute(29), 20);
        let decision = Decision {
            rows: vec![row],
            decided: minute(30),
            replaces: false,
            wake: None,
        };
        let wrote = store.decided(note, None, decision, (None, now)).wait();
        assert!(wrote.unwrap());
        let wanted = vec![minute(10), minute(15), minute(29), minute(15)];
        assert_eq!(store.backfill(&id, wanted, now).wait(), Ok(3));
        let reader = store.reader().unwrap();
        let rows = reader.slots(&id, (None, None)).unwrap();
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
