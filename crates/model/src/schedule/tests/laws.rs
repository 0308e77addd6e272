//! Laws that apply to every timing.

use std::time::Duration;

use proptest::prelude::*;

use crate::schedule::{
    CronExpression, DstGapPolicy, DstNote, DstOverlapPolicy, DstPolicy, GoalSchedule, ScheduleExclusion,
    ScheduleZone, Slot, TimingRule,
};
use wf_base::time::Moment;

pub(super) const EXPRESSIONS: [&str; 10] = [
    "30 2 * * *",
    "*/20 * * * *",
    "*/7 * * * * *",
    "0 0 * * MON-FRI",
    "15 0,12 L * *",
    "@monthly",
    "0 0 29 2 *",
    "0 22-3 * * 5#2",
    "0 1 13 * +FRI",
    "30 1 * 3,10 SUN",
];

pub(super) const ZONES: [&str; 6] =
    ["UTC", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"];

pub(super) fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

pub(super) fn cron(expression: &str, zone: &str, dst: DstPolicy) -> TimingRule {
    TimingRule::Cron {
        expression: CronExpression::parse(expression).unwrap(),
        zone: ScheduleZone::parse(zone).unwrap(),
        dst,
    }
}

fn once(civil: &str, zone: &str, gap: DstGapPolicy, overlap: DstOverlapPolicy) -> GoalSchedule {
    GoalSchedule::of(TimingRule::At {
        civil: civil.parse().unwrap(),
        zone: ScheduleZone::parse(zone).unwrap(),
        dst: DstPolicy { gap, overlap },
    })
}

fn at(slots: impl Iterator<Item = Slot>) -> Vec<String> {
    slots.map(|slot| slot.at.to_string().replace(":00.000Z", "Z")).collect()
}

fn all(timing: &GoalSchedule, from: &str, until: &str) -> Vec<String> {
    at(timing.slots(moment(from), moment(until)))
}

fn timing() -> impl Strategy<Value = GoalSchedule> {
    let dst = prop_oneof![
        Just(DstPolicy::default()),
        Just(DstPolicy { gap: DstGapPolicy::Skip, overlap: DstOverlapPolicy::Both }),
        Just(DstPolicy { gap: DstGapPolicy::RunAtTransition, overlap: DstOverlapPolicy::Last }),
    ];
    let zone = prop::sample::select(&ZONES[..]);
    let rule = (prop::sample::select(&EXPRESSIONS[..]), zone, dst)
        .prop_map(|(expression, zone, dst)| cron(expression, zone, dst));
    (prop::collection::vec(rule, 1..4), any::<bool>()).prop_map(|(rules, night)| {
        let mut timing = GoalSchedule::of(rules[0].clone());
        timing.rules = rules;
        if night {
            timing.exclude.push(ScheduleExclusion::Daily {
                from: "22:00".parse().unwrap(),
                until: "06:00".parse().unwrap(),
                on: Vec::new(),
            });
        }
        timing
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn two_intervals_have_the_slots_of_the_whole(
        timing in timing(),
        start in 0i64..2_100_000_000_000,
        lengths in (0i64..200_000_000, 0i64..200_000_000)) {
        let middle = Moment::from_millis(start + lengths.0);
        let end = Moment::from_millis(start + lengths.0 + lengths.1);
        let start = Moment::from_millis(start);
        let whole: Vec<Slot> = timing.slots(start, end).take(3_000).collect();
        let parts = timing.slots(start, middle).chain(timing.slots(middle, end));
        let parts: Vec<Slot> = parts.take(3_000).collect();
        prop_assert_eq!(&whole, &parts);
        prop_assert!(whole.is_sorted_by(|a, b| a.at < b.at));
        prop_assert!(whole.iter().all(|slot| slot.at > start && slot.at <= end));
    }

    #[test]
    fn before_and_after_undo_each_other(timing in timing(), now in 0i64..2_100_000_000_000) {
        let now = Moment::from_millis(now);
        let next = timing.next(now).unwrap();
        prop_assert!(next.at > now);
        prop_assert_eq!(timing.slots(now, next.at).count(), 1);
        let after = timing.next(next.at).unwrap();
        prop_assert_eq!(timing.prev(after.at).unwrap(), next.clone());
        let before = timing.prev(next.at).unwrap();
        prop_assert!(before.at <= now);
        prop_assert_eq!(timing.next(before.at).unwrap(), next);
    }

    #[test]
    fn a_timing_is_read_back_as_it_was(mut timing in timing(), seconds in 0u64..1_000_000) {
        timing.splay = Duration::from_secs(seconds);
        timing.active_from = Some(Moment::from_millis(1_700_000_000_000));
        let text = serde_json::to_string(&timing).unwrap();
        let back: GoalSchedule = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), text);
        prop_assert_eq!(back, timing);
    }

    #[test]
    fn no_text_is_too_strange_to_be_looked_at(text in "[0-9*/,?#LWlw@+ \\-a-zé]{0,30}") {
        match CronExpression::parse(&text) {
            Ok(cron) => {
                let due = GoalSchedule::of(TimingRule::Cron { expression: cron, zone: ScheduleZone::utc(), dst: DstPolicy::default() });
                prop_assert!(due.next(Moment::from_millis(0)).is_some(), "{text} is never due");
            }
            Err(bad) => prop_assert!(text.get(bad.at.clone()).is_some(), "{text}: {bad:?}"),
        }
    }
}

#[test]
fn several_rules_make_one_row_of_slots() {
    let mut timing = GoalSchedule::of(cron("0 */6 * * *", "UTC", DstPolicy::default()));
    timing.rules.push(cron("0 1,13 * * *", "Europe/Berlin", DstPolicy::default()));
    let slots = all(&timing, "2026-01-01T00:00:00Z", "2026-01-01T23:00:00Z");
    let expected = ["06:00Z", "12:00Z", "18:00Z"].map(|at| format!("2026-01-01T{at}"));
    assert_eq!(slots, expected);
    timing.rules.push(cron("30 7 * * *", "UTC", DstPolicy::default()));
    let slots = all(&timing, "2026-01-01T06:00:00Z", "2026-01-01T12:00:00Z");
    assert_eq!(slots, ["2026-01-01T07:30Z", "2026-01-01T12:00Z"]);
}

#[test]
fn what_is_due_anyway_is_not_in_place_of_something() {
    let mut timing = GoalSchedule::of(cron("30 2 * * *", "Europe/Berlin", DstPolicy::default()));
    let next = |timing: &GoalSchedule| timing.next(moment("2026-03-28T12:00:00Z")).unwrap();
    assert_eq!(next(&timing).note, Some(DstNote::AtTransition));
    timing.rules.push(cron("0 1 * * *", "UTC", DstPolicy::default()));
    assert_eq!(next(&timing).at, moment("2026-03-29T01:00:00Z"));
    assert_eq!(next(&timing).note, None);
}

#[test]
fn a_time_that_comes_once_goes_by_the_policy() {
    let around = |timing: &GoalSchedule| all(timing, "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z");
    let plain = once("2026-12-01T09:00", "Europe/Berlin", DstGapPolicy::Skip, DstOverlapPolicy::First);
    assert_eq!(around(&plain), ["2026-12-01T08:00Z"]);
    assert_eq!(plain.next(moment("2026-12-01T08:00:00Z")), None);
    assert_eq!(plain.prev(moment("2026-12-01T08:00:00Z")), None);
    assert_eq!(plain.prev(moment("2090-12-01T08:00:00Z")).unwrap().at, moment("2026-12-01T08:00:00Z"));
    let gap = |gap| around(&once("2026-03-29T02:30", "Europe/Berlin", gap, DstOverlapPolicy::First));
    assert!(gap(DstGapPolicy::Skip).is_empty());
    assert_eq!(gap(DstGapPolicy::RunAtTransition), ["2026-03-29T01:00Z"]);
    let fold = |fold| around(&once("2026-10-25T02:30", "Europe/Berlin", DstGapPolicy::Skip, fold));
    assert_eq!(fold(DstOverlapPolicy::First), ["2026-10-25T00:30Z"]);
    assert_eq!(fold(DstOverlapPolicy::Last), ["2026-10-25T01:30Z"]);
    assert_eq!(fold(DstOverlapPolicy::Both), ["2026-10-25T00:30Z", "2026-10-25T01:30Z"]);
}

#[test]
fn nothing_is_due_outside_of_its_time() {
    let mut timing = GoalSchedule::of(cron("0 * * * *", "UTC", DstPolicy::default()));
    timing.active_from = Some(moment("2026-01-01T02:00:00Z"));
    timing.active_until = Some(moment("2026-01-01T04:00:00Z"));
    let slots = all(&timing, "2025-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    let expected = ["02:00Z", "03:00Z", "04:00Z"].map(|at| format!("2026-01-01T{at}"));
    assert_eq!(slots, expected);
    assert_eq!(timing.next(moment("2026-01-01T04:00:00Z")), None);
    assert_eq!(timing.prev(moment("2026-01-01T02:00:00Z")), None);
    timing.active_from = Some(moment("2026-01-01T02:00:00.001Z"));
    let first = timing.next(moment("2025-01-01T00:00:00Z")).unwrap();
    assert_eq!(first.at, moment("2026-01-01T03:00:00Z"));
}

#[test]
fn exclusions_are_told_and_not_left_out() {
    let mut timing = GoalSchedule::of(cron("0 5,23 * * *", "Europe/Berlin", DstPolicy::default()));
    timing.exclude.push(ScheduleExclusion::Date("2026-12-25".parse().unwrap()));
    let slots = timing.slots(moment("2026-12-24T12:00:00Z"), moment("2026-12-26T12:00:00Z"));
    let reason: Vec<Option<String>> = slots.map(|slot| slot.excluded).collect();
    let day = Some("2026-12-25 is excluded".to_owned());
    assert_eq!(reason, [None, day.clone(), day, None]);
}

#[test]
fn goals_begin_spread_over_their_splay() {
    let mut timing = GoalSchedule::of(cron("0 * * * *", "UTC", DstPolicy::default()));
    assert_eq!(timing.offset("backup"), Duration::ZERO);
    timing.splay = Duration::from_mins(10);
    let offsets: Vec<Duration> = (0..200).map(|at| timing.offset(&format!("goal-{at}"))).collect();
    assert!(offsets.iter().all(|offset| *offset < timing.splay));
    let early = offsets.iter().filter(|offset| offset.as_secs() < 300).count();
    assert!((70..130).contains(&early), "{early} of 200 begin in the first half");
    // The first eight bytes of the SHA-256 of the id, modulo 600,000: the same on every machine.
    assert_eq!(timing.offset("backup"), Duration::from_millis(450_680));
}

#[test]
fn the_ends_of_time_are_quiet() {
    let timing = GoalSchedule::of(cron("* * * * * *", "Europe/Berlin", DstPolicy::default()));
    let end = Moment::from_millis(i64::MAX);
    assert_eq!(timing.next(end), None);
    assert_eq!(timing.prev(Moment::from_millis(i64::MIN)), None);
    assert_eq!(timing.slots(end, Moment::from_millis(0)).count(), 0);
    assert!(timing.next(Moment::from_millis(i64::MIN)).is_some());
    assert!(timing.prev(end).is_some());
}
