//! The rules of a goal about missed, late and overlapping slots, one by one.

use super::world::{World, at, goal, minutes, missing, seconds};
use crate::goal::{GoalLedgerState, SlotDecision, SlotState, decide};
use wf_base::keyword::Keyword;
use wf_model::{Goal, GoalOverlapPolicy, MissedTimesChoice, schedule::ScheduleExclusion};

/// A goal that was missed from 09:00 to 12:00, every hour; rows at 12:30.
fn missed(run: MissedTimesChoice, change: impl FnOnce(&mut Goal)) -> World {
    let mut goal = goal("0 * * * *", "UTC");
    goal.missed = missing(run);
    change(&mut goal);
    let mut world = World::new(goal);
    world.takes = minutes(5);
    world.lives("2026-03-02T08:30:00Z", "2026-03-02T08:31:00Z");
    world.lives("2026-03-02T12:30:00Z", "2026-03-02T12:59:00Z");
    world
}

#[test]
fn missed_slots_begin_as_the_goal_says() {
    let world = missed(MissedTimesChoice::None, |_| {});
    let rows = [9, 10, 11, 12]
        .map(|hour| format!("2026-03-02T{hour:02}:00:00Z missed: no scheduler was running in time"));
    assert_eq!(world.rows(), rows);

    let world = missed(MissedTimesChoice::Latest, |_| {});
    let mut rows: Vec<String> = [9, 10, 11]
        .map(|hour| format!("2026-03-02T{hour:02}:00:00Z missed: a later slot runs instead"))
        .into();
    rows.push("2026-03-02T12:00:00Z started by catch_up: 30m late".into());
    assert_eq!(world.rows(), rows);

    let world = missed(MissedTimesChoice::All, |_| {});
    let slots = [9, 10, 11, 12].map(|hour| format!("2026-03-02T{hour:02}:00:00Z"));
    assert_eq!(world.slots(), slots, "in order");
    let beside = world.begun.iter().any(|begun| begun.beside);
    assert!(!beside, "one after the other");
}

#[test]
fn of_all_missed_slots_no_more_begin_than_the_cap() {
    let world = missed(MissedTimesChoice::All, |goal| goal.missed.cap = 2);
    assert_eq!(
        world.rows(),
        [
            "2026-03-02T09:00:00Z missed: more than 2 slots were missed",
            "2026-03-02T10:00:00Z missed: more than 2 slots were missed",
            "2026-03-02T11:00:00Z started by catch_up: 1h30m late",
            "2026-03-02T12:00:00Z started by catch_up: 30m late",
        ]
    );
}

#[test]
fn missed_slots_of_long_ago_do_not_begin() {
    let world = missed(MissedTimesChoice::All, |goal| goal.missed.window = minutes(90));
    let rows = world.rows();
    assert_eq!(world.slots().len(), 2, "{rows:?}");
    let old = "2026-03-02T10:00:00Z missed: it was processed more than 1h30m late";
    assert_eq!(rows[1], old);
}

#[test]
fn a_slot_within_its_window_is_on_time() {
    let late = |by: u64| {
        let mut goal = goal("0 9 * * *", "UTC");
        goal.missed = missing(MissedTimesChoice::None);
        goal.window = minutes(10);
        let mut world = World::new(goal);
        world.look(at("2026-03-02T08:00:00Z"));
        world.look(at("2026-03-02T09:00:00Z").after(seconds(by)));
        world.begun.len()
    };
    assert_eq!((late(0), late(600), late(601)), (1, 1, 0));
}

#[test]
fn a_slot_on_time_takes_the_place_of_the_latest_missed_one() {
    let mut world = World::new(goal("0 * * * *", "UTC"));
    world.look(at("2026-03-02T08:30:00Z"));
    world.look(at("2026-03-02T12:00:10Z"));
    assert_eq!(world.slots(), ["2026-03-02T12:00:00Z"]);
}

/// A goal that is due every minute, whose first reconciliation takes 150 seconds, the others 10.
fn overlapping(overlap: GoalOverlapPolicy) -> World {
    let mut goal = goal("* * * * *", "UTC");
    goal.overlap = overlap;
    goal.window = minutes(10);
    let mut world = World::new(goal);
    world.takes = seconds(150);
    world.lives("2026-03-02T09:00:30Z", "2026-03-02T09:01:00Z");
    world.takes = seconds(10);
    world.lives("2026-03-02T09:01:01Z", "2026-03-02T09:04:30Z");
    world
}

/// The minutes and seconds at which reconciliations started, with their slots.
fn began(world: &World) -> Vec<String> {
    let begun = world.begun.iter();
    let minute = |at: wf_base::time::Moment| at.to_second()[14..19].to_owned();
    begun.map(|begun| format!("{} at {}", minute(begun.slot), minute(begun.at))).collect()
}

#[test]
fn slots_that_come_in_a_cycle_do_as_the_goal_says() {
    let began_of = |overlap| began(&overlapping(overlap));
    assert_eq!(began_of(GoalOverlapPolicy::Skip), ["01:00 at 01:00", "04:00 at 04:00"]);
    assert_eq!(began_of(GoalOverlapPolicy::QueueOne), ["01:00 at 01:00", "03:00 at 03:30", "04:00 at 04:00"]);
    let all = ["01:00 at 01:00", "02:00 at 03:30", "03:00 at 03:40"];
    assert_eq!(began_of(GoalOverlapPolicy::QueueAll), [&all[..], &["04:00 at 04:00"]].concat());
    let each = ["01", "02", "03", "04"].map(|minute| format!("{minute}:00 at {minute}:00"));
    assert_eq!(began_of(GoalOverlapPolicy::Replace), each);
    assert_eq!(began_of(GoalOverlapPolicy::Allow), each);
}

#[test]
fn only_where_it_is_allowed_do_cycles_go_on_side_by_side() {
    for overlap in GoalOverlapPolicy::ALL {
        let world = overlapping(*overlap);
        let beside = world.begun.iter().filter(|begun| begun.beside).count();
        let wanted = if *overlap == GoalOverlapPolicy::Allow { 2 } else { 0 };
        assert_eq!(beside, wanted, "{overlap:?}");
        let cancelled = usize::from(*overlap == GoalOverlapPolicy::Replace);
        assert_eq!(world.cancelled, cancelled, "{overlap:?}");
        assert_eq!(world.rows().len(), 4, "{overlap:?} accounts for each");
    }
    let skipped = "2026-03-02T09:02:00Z skipped: the reconciliation of 2026-03-02T09:01:00Z is still running";
    assert_eq!(overlapping(GoalOverlapPolicy::Skip).rows()[1], skipped);
    let waits = "2026-03-02T09:02:00Z skipped: a later slot is queued instead";
    assert_eq!(overlapping(GoalOverlapPolicy::QueueOne).rows()[1], waits);
}

#[test]
fn excluded_slots_are_skipped_also_when_they_were_missed() {
    let nights = ScheduleExclusion::Daily {
        from: "10:00".parse().unwrap(),
        until: "12:00".parse().unwrap(),
        on: Vec::new(),
    };
    let world = missed(MissedTimesChoice::All, |goal| goal.timing.exclude.push(nights));
    let rows = world.rows();
    assert_eq!(world.slots().len(), 2, "{rows:#?}");
    assert!(rows[1].starts_with("2026-03-02T10:00:00Z skipped: "), "{rows:#?}");
    assert!(rows[2].starts_with("2026-03-02T11:00:00Z skipped: "), "{rows:#?}");
}

#[test]
fn a_spread_goal_begins_after_its_slot_and_is_not_late() {
    let mut goal = goal("0 9 * * *", "UTC");
    goal.timing.splay = minutes(30);
    goal.missed = missing(MissedTimesChoice::None);
    let offset = goal.timing.offset("goal");
    assert!(offset > minutes(1), "this one is spread");
    let mut world = World::new(goal);
    world.lives("2026-03-02T08:00:00Z", "2026-03-02T10:00:00Z");
    assert_eq!(world.slots(), ["2026-03-02T09:00:00Z"]);
    assert_eq!(world.begun[0].at, at("2026-03-02T09:00:00Z").after(offset));
}

#[test]
fn what_waits_for_room_for_too_long_is_missed() {
    for (run, patience) in [(MissedTimesChoice::None, 1), (MissedTimesChoice::Latest, 24 * 60)] {
        let mut goal = goal("0 9 1 * *", "UTC");
        goal.missed = missing(run);
        let mut world = World::new(goal);
        world.look(at("2026-03-01T08:00:00Z"));
        let due = at("2026-03-01T09:00:00Z");
        world.look_and_die(due);
        world.look_and_die(due.after(minutes(patience)));
        assert!(world.rows()[0].ends_with("due"), "{run:?}");
        world.look(due.after(minutes(patience) + seconds(1)));
        let rows = world.rows();
        assert!(rows[0].contains("missed: it could not start within"), "{rows:?}");
        assert!(world.begun.is_empty());
    }
}

#[test]
fn a_goal_of_every_second_that_was_down_for_days_takes_few_rows() {
    let (from, to) = (at("2026-01-01T00:00:00Z"), at("2026-01-06T00:00:00Z"));
    for run in MissedTimesChoice::ALL {
        let mut goal = goal("* * * * * *", "UTC");
        goal.missed = missing(*run);
        goal.missed.window = minutes(10 * 365 * 24 * 60);
        let known = GoalLedgerState::first_seen(goal.timing.clone(), from);
        let decision: SlotDecision = decide(&goal, &known, to);
        let count = |state| {
            let of = decision.rows.iter().filter(|row| row.state == state);
            of.map(|row| row.count).sum::<u64>()
        };
        let states = SlotState::ALL.iter().copied().map(count);
        assert_eq!(states.sum::<u64>(), 5 * 86_400, "{run:?}");
        assert!(decision.rows.len() < 1_300, "{run:?}: {}", decision.rows.len());
    }
}

#[test]
fn rows_are_shared_only_where_nothing_else_is_between() {
    // Excluded slots alternate with late ones, second by second.
    let mut goal = goal("*/30 * * * * *", "UTC");
    goal.missed = missing(MissedTimesChoice::All);
    for hour in 0..24 {
        let window = |from: String, until: String| ScheduleExclusion::Daily {
            from: from.parse().unwrap(),
            until: until.parse().unwrap(),
            on: Vec::new(),
        };
        for minute in (0..58).step_by(2) {
            let (from, until) = (format!("{hour:02}:{minute:02}"), minute + 1);
            goal.timing.exclude.push(window(from, format!("{hour:02}:{until:02}")));
        }
    }
    let known = GoalLedgerState::first_seen(goal.timing.clone(), at("2026-01-01T00:00:00Z"));
    let mut rows = decide(&goal, &known, at("2026-01-03T00:00:00Z")).rows;
    rows.sort_by_key(|row| row.slot);
    assert!(rows.iter().any(|row| row.count > 1), "some are shared");
    let apart = rows.windows(2).all(|two| two[0].last < two[1].slot);
    assert!(apart, "each slot is in one row");
    let count: u64 = rows.iter().map(|row| row.count).sum();
    assert_eq!(count, 2 * 2 * 24 * 60);
}
