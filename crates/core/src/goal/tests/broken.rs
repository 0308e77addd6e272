use super::world::{at, goal};
use crate::goal::{GoalLedgerState, SlotState, missed_while_broken};
use wf_base::time::Moment;

fn rows(known: &GoalLedgerState, now: Moment) -> (Vec<(Moment, SlotState, String)>, Option<Moment>) {
    let decided = missed_while_broken(&goal("0 * * * *", "UTC").id, known, "g.md: 1 problem", now);
    let rows = decided.rows.into_iter().map(|row| (row.slot, row.state, row.reason));
    (rows.collect(), decided.wake)
}

#[test]
fn times_that_came_are_missed_with_the_reason_and_the_last_minute_can_still_be_saved() {
    let timing = goal("0 * * * *", "UTC").timing;
    let known = GoalLedgerState::first_seen(timing, at("2026-11-29T08:30:00Z"));
    let missed = |hour: &str| (at(hour), SlotState::Missed, "broken: g.md: 1 problem".to_owned());
    let (nine, ten) = ("2026-11-29T09:00:00Z", "2026-11-29T10:00:00Z");
    let next = Some(at("2026-11-29T10:01:00Z"));
    assert_eq!(rows(&known, at("2026-11-29T10:00:59Z")), (vec![missed(nine)], next));
    let next = Some(at("2026-11-29T11:01:00Z"));
    assert_eq!(rows(&known, at("2026-11-29T10:01:00Z")), (vec![missed(nine), missed(ten)], next));
    let paused = GoalLedgerState { paused: Some((at("2026-11-29T08:40:00Z"), String::new())), ..known };
    assert_eq!(rows(&paused, at("2026-11-29T10:01:00Z")), (vec![], None));
}
