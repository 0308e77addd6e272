//! The bugs of other schedulers, each by the number of its line in the list of `docs/goals.md`.

use super::world::{World, at, goal, minutes, missing, timing};
use crate::goal::ReconciliationCause;
use wf_base::{keyword::Keyword, time::Moment};
use wf_model::{GoalOverlapPolicy, MissedTimesChoice};

const NINE: &str = "2026-03-02T09:00:00Z";

fn daily() -> World {
    World::new(goal("0 9 * * *", "UTC"))
}

/// The instant so many milliseconds after another.
fn from(text: &str, millis: i64) -> Moment {
    Moment::from_millis(at(text).millis() + millis)
}

#[test]
fn t02_a_restart_around_the_slot_neither_loses_nor_doubles_it() {
    for (down, up) in [
        (-8_000, -8_000),
        (-8_000, 0),
        (-8_000, 13_000),
        (-1, 1),
        (0, 0),
        (0, 13_000),
        (13_000, 13_000),
        (13_000, 14_000),
    ] {
        for run in MissedTimesChoice::ALL {
            let mut world = daily();
            world.goal.missed = missing(*run);
            world.live(at("2026-03-01T10:00:00Z"), from(NINE, down));
            world.live(from(NINE, up), at("2026-03-03T08:00:00Z"));
            assert_eq!(world.slots(), [NINE], "down {down}, up {up}, {run:?}");
            assert_eq!(world.rows(), [format!("{NINE} started")]);
        }
    }
}

#[test]
fn t02_a_death_between_the_decision_and_the_start_costs_nothing() {
    let mut world = daily();
    world.lives("2026-03-01T10:00:00Z", "2026-03-02T08:00:00Z");
    world.look_and_die(from(NINE, 5));
    assert_eq!(world.rows(), [format!("{NINE} due")]);
    world.lives("2026-03-02T09:00:30Z", "2026-03-02T12:00:00Z");
    assert_eq!(world.rows(), [format!("{NINE} started")]);
    assert_eq!(world.begun.len(), 1);
}

#[test]
fn t03_a_restart_after_a_success_does_not_run_again() {
    for run in MissedTimesChoice::ALL {
        let mut world = daily();
        world.goal.missed = missing(*run);
        world.lives("2026-03-01T10:00:00Z", "2026-03-02T09:05:00Z");
        for minute in [10, 30, 59] {
            let up = format!("2026-03-02T09:{minute}:00Z");
            world.lives(&up, &up);
        }
        world.lives("2026-03-02T15:00:00Z", "2026-03-03T08:59:59Z");
        assert_eq!(world.slots(), [NINE]);
    }
}

#[test]
fn t04_a_catch_up_is_in_the_zone_of_its_goal() {
    let mut world = World::new(goal("30 9 * * *", "America/New_York"));
    // The clocks of New York go forward on 2026-03-08, during the outage.
    world.lives("2026-03-06T20:00:00Z", "2026-03-06T21:00:00Z");
    world.lives("2026-03-09T01:00:00Z", "2026-03-09T20:00:00Z");
    assert_eq!(
        world.rows(),
        [
            "2026-03-07T14:30:00Z missed: it was processed more than 1d late",
            "2026-03-08T13:30:00Z started by catch_up: 11h30m late",
            "2026-03-09T13:30:00Z started",
        ]
    );
}

#[test]
fn t05_the_next_slot_after_a_restart_at_noon_is_that_of_tomorrow() {
    let mut world = daily();
    world.lives("2026-03-01T10:00:00Z", "2026-03-02T09:01:00Z");
    let next = world.look(at("2026-03-02T12:00:00Z"));
    assert_eq!(next, Some(at("2026-03-03T09:00:00Z")));
    // Also for a goal that was never considered before.
    let next = daily().look(at("2026-03-02T12:00:00Z"));
    assert_eq!(next, Some(at("2026-03-03T09:00:00Z")));
}

#[test]
fn t06_a_pause_leaves_no_backlog_and_skips_no_slot_after_it() {
    for is_there in [true, false] {
        for run in MissedTimesChoice::ALL {
            let mut world = World::new(goal("0 * * * *", "UTC"));
            world.goal.missed = missing(*run);
            world.lives("2026-03-02T08:30:00Z", "2026-03-02T09:30:00Z");
            world.pause(at("2026-03-02T09:30:00Z"));
            if is_there {
                world.lives("2026-03-02T09:30:00Z", "2026-03-02T14:30:00Z");
            }
            world.resume(at("2026-03-02T14:30:00Z"));
            world.lives("2026-03-02T14:30:00Z", "2026-03-02T15:30:00Z");
            assert_eq!(world.slots(), ["2026-03-02T09:00:00Z", "2026-03-02T15:00:00Z"]);
            let rows = world.rows();
            let paused: Vec<_> = rows.iter().filter(|row| row.ends_with("paused")).collect();
            assert_eq!((paused.len(), rows.len()), (5, 7), "{rows:#?}");
        }
    }
}

#[test]
fn t07_a_changed_schedule_runs_nothing_that_was_before_the_change() {
    for (edited, more) in [
        // Changed before its new time, it starts then, on the same day.
        ("2026-03-02T01:30:00Z", vec!["2026-03-02T02:15:00Z"]),
        ("2026-03-02T02:15:00Z", vec![]),
        ("2026-03-02T12:00:00Z", vec![]),
    ] {
        let mut world = World::new(goal("15 1 * * *", "UTC"));
        world.lives("2026-03-01T10:00:00Z", edited);
        world.goal.timing = timing("15 2 * * *", "UTC");
        world.lives(edited, "2026-03-03T03:00:00Z");
        let slots = [vec!["2026-03-02T01:15:00Z"], more, vec!["2026-03-03T02:15:00Z"]];
        assert_eq!(world.slots(), slots.concat(), "edited at {edited}");
    }
}

#[test]
fn t07_a_schedule_changed_in_an_outage_or_a_pause_says_so_of_old_slots() {
    let change = |is_paused: bool| {
        let mut world = World::new(goal("15 1 * * *", "UTC"));
        world.lives("2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z");
        if is_paused {
            world.pause(at("2026-03-01T11:00:00Z"));
        }
        world.goal.timing = timing("0 5 * * *", "UTC");
        world.lives("2026-03-02T08:00:00Z", "2026-03-02T09:00:00Z");
        assert!(world.begun.is_empty());
        world.rows()
    };
    let changed = "2026-03-02T01:15:00Z missed: the schedule changed before this slot was processed";
    assert_eq!(change(false), [changed]);
    let paused = "2026-03-02T01:15:00Z skipped: the goal was paused";
    assert_eq!(change(true), [paused]);
}

/// Checks that every slot of two days started once, whatever the clock did at `when`, and that no
/// slot after the clock was corrected was lost.
fn jumped(when: Moment, by: i64, back: bool) {
    let mut world = World::new(goal("*/30 * * * *", "UTC"));
    world.goal.missed = missing(MissedTimesChoice::All);
    world.goal.overlap = GoalOverlapPolicy::QueueAll;
    let begin = at("2026-03-02T00:10:00Z");
    let end = at("2026-03-05T00:10:00Z");
    world.live(begin, when);
    let there = Moment::from_millis(when.millis() + by);
    world.live(there, there.after(minutes(3)));
    if back {
        world.live(when.after(minutes(3)), end);
    } else {
        world.live(there, end);
    }
    let mut slots = world.slots();
    slots.sort();
    slots.dedup();
    assert_eq!(slots.len(), world.begun.len(), "none began twice, by {by}");
    let wanted = world.goal.timing.slots(begin, end);
    let wanted: Vec<String> = wanted.map(|slot| slot.at.to_second()).collect();
    assert_eq!(slots, wanted, "none was lost, by {by} at {when}");
    let early = world.begun.iter().find(|begun| begun.at < begun.slot);
    assert_eq!(early, None, "none began before its time, by {by}");
}

#[test]
fn t10_a_clock_that_jumps_neither_loses_nor_doubles_a_slot() {
    let second = 1_000;
    for by in [2 * second, 3_600 * second, 86_400 * second, -2 * second, -3_600 * second, -86_400 * second] {
        for around in [-1_000, 0, 1, 900_000] {
            let when = from("2026-03-03T12:00:00Z", around);
            jumped(when, by, false);
            jumped(when, by, true);
        }
    }
}

#[test]
fn t10_after_a_suspend_the_last_slot_runs_once() {
    let mut world = World::new(goal("*/10 * * * *", "UTC"));
    world.takes = minutes(1);
    world.lives("2026-03-02T08:55:00Z", "2026-03-02T09:00:20Z");
    // The lid was closed in a reconciliation, and opened in the evening.
    world.lives("2026-03-02T20:05:00Z", "2026-03-02T20:10:00Z");
    let rows = world.rows();
    assert_eq!(rows.first().unwrap(), "2026-03-02T09:00:00Z started");
    let late = "2026-03-02T20:00:00Z started by catch_up: 5m late";
    assert_eq!(rows[rows.len() - 2], late);
    assert_eq!(world.begun.len(), 3);
    assert_eq!(world.begun[1].cause, ReconciliationCause::CatchUp);
}

#[test]
fn t10_a_clock_that_ran_ahead_makes_no_goal_silent() {
    let mut world = daily();
    world.goal.missed = missing(MissedTimesChoice::None);
    world.lives("2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z");
    // A year ahead, for a minute: the slots missed meanwhile are restored once that is corrected.
    world.lives("2027-03-01T09:00:10Z", "2027-03-01T09:01:00Z");
    assert_eq!(world.rows().len(), 365);
    let next = world.look(at("2026-03-01T13:00:00Z"));
    assert_eq!(next, Some(at(NINE)));
    assert_eq!(world.rows(), ["2027-03-01T09:00:00Z started"]);
    world.lives("2026-03-01T13:00:00Z", "2026-03-02T13:00:00Z");
    assert_eq!(world.slots(), ["2027-03-01T09:00:00Z", NINE]);
    // A started slot does not start again when its time comes.
    world.lives("2027-03-01T08:59:00Z", "2027-03-01T10:00:00Z");
    assert_eq!(world.begun.len(), 2);
}

#[test]
fn t10_rows_that_a_clock_ran_through_are_cut_off_where_it_is_put_right() {
    let mut world = World::new(goal("* * * * * *", "UTC"));
    world.goal.missed = missing(MissedTimesChoice::None);
    world.look(at("2026-03-02T09:00:00Z"));
    world.look_and_die(at("2026-03-02T10:00:00Z"));
    let shared = |world: &World| world.ledger.rows(&world.goal.id).any(|(row, _)| row.count > 1);
    assert!(shared(&world));
    world.lives("2026-03-02T09:30:00Z", "2026-03-02T10:00:00Z");
    let rows = world.ledger.rows(&world.goal.id);
    let count: u64 = rows.map(|(row, _)| row.count).sum();
    assert_eq!(count, 3_600);
}
