//! Tests of exclusions and of the search for a free time: by example, and against a full search.

use std::time::Duration;

use proptest::prelude::*;

use super::laws::{EXPRESSIONS, ZONES, cron, moment};
use crate::schedule::{DstNote, DstPolicy, GoalSchedule, ScheduleExclusion, Slot};
use wf_base::{keyword::Keyword, time::Moment};

fn daily(from: &str, until: &str) -> ScheduleExclusion {
    ScheduleExclusion::Daily { from: from.parse().unwrap(), until: until.parse().unwrap(), on: Vec::new() }
}

/// Clocks in Berlin skip 02:00 to 03:00 on March 29; a time set for then is due at 03:00.
#[test]
fn what_is_excluded_is_what_was_asked_for_and_not_where_clocks_moved_it() {
    let excluded = |exclude: ScheduleExclusion, zone: &str, (expression, from): (&str, &str)| {
        let mut timing = GoalSchedule::of(cron(expression, zone, DstPolicy::default()));
        timing.exclude.push(exclude);
        let slot = timing.next(moment(from)).unwrap();
        (slot.note, slot.excluded.is_some())
    };
    let moved = Some(DstNote::AtTransition);
    let berlin =
        |exclude, expression| excluded(exclude, "Europe/Berlin", (expression, "2026-03-28T12:00:00Z"));
    assert_eq!(berlin(daily("02:00", "03:00"), "30 2 * * *"), (moved, true));
    assert_eq!(berlin(daily("03:00", "04:00"), "30 2 * * *"), (moved, false));
    // Of several skipped times, one that is not excluded is enough.
    assert_eq!(berlin(daily("02:00", "02:20"), "10,30 2 * * *"), (moved, false));
    assert_eq!(berlin(daily("02:00", "02:40"), "10,30 2 * * *"), (moved, true));
    // Apia had no December 30.
    let apia = |day: &str| {
        let exclude = ScheduleExclusion::Date(day.parse().unwrap());
        let at = ("0 9 30 12 *", "2011-12-01T00:00:00Z");
        excluded(exclude, "Pacific/Apia", at)
    };
    assert_eq!(apia("2011-12-30"), (moved, true));
    assert_eq!(apia("2011-12-31"), (moved, false));
}

#[test]
fn what_a_rule_asks_for_is_excluded_by_the_clocks_of_its_own_zone() {
    let mut timing = GoalSchedule::of(cron("0 9 * * *", "Europe/Berlin", DstPolicy::default()));
    timing.rules.push(cron("0 9 * * *", "Asia/Tokyo", DstPolicy::default()));
    timing.exclude.push(daily("08:00", "10:00"));
    let slots = |timing: &GoalSchedule| -> Vec<(String, Option<String>, String)> {
        let slots = timing.slots(moment("2026-01-01T12:00:00Z"), moment("2026-01-02T12:00:00Z"));
        let told = |slot: Slot| {
            let zone = timing.zone_of(&slot);
            (zone.local(slot.at).to_string(), slot.excluded, zone.to_string())
        };
        slots.map(told).collect()
    };
    let reason = Some("08:00 to 10:00 is excluded".to_owned());
    let tokyo = ("2026-01-02T09:00:00+09:00".to_owned(), reason.clone(), "Asia/Tokyo".to_owned());
    let berlin = ("2026-01-02T09:00:00+01:00".to_owned(), reason, "Europe/Berlin".to_owned());
    assert_eq!(slots(&timing), [tokyo, berlin]);
    assert_eq!(timing.one_zone(), None);
    assert_eq!(timing.zone_at(moment("2026-01-02T00:00:00Z")).name(), "Asia/Tokyo");
    // 17:00 in Tokyo is 09:00 in Berlin: a rule for the latter is excluded, the other is not.
    timing.rules[1] = cron("0 17 * * *", "Asia/Tokyo", DstPolicy::default());
    let [(local, excluded, zone)] = &slots(&timing)[..] else {
        panic!("one instant is one slot");
    };
    assert_eq!((local.as_str(), zone.as_str()), ("2026-01-02T17:00:00+09:00", "Asia/Tokyo"));
    assert_eq!(*excluded, None);
}

fn some_exclusion() -> impl Strategy<Value = ScheduleExclusion> {
    let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let day = |days: u32| format!("2026-{:02}-{:02}", days / 28 % 12 + 1, days % 28 + 1);
    prop_oneof![
        3 => (0..48u32, 1..48u32, prop::collection::vec(prop::sample::select(crate::schedule::Weekday::ALL), 0..4))
            .prop_filter_map("a window", move |(from, until, on)| Some(ScheduleExclusion::Daily {
                from: clock(from * 30).parse().ok()?,
                until: clock(until * 30).parse().ok()?,
                on,
            })),
        1 => (0..336u32, 0..336u32).prop_filter_map("days", move |(one, other)| {
            let (from, until) = (one.min(other), one.max(other));
            Some(ScheduleExclusion::Dates { from: day(from).parse().ok()?, until: day(until).parse().ok()? })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Every scheduled time can be checked for timings that end within a year.
    #[test]
    fn there_is_a_free_slot_where_any_is_not_excluded(
        expressions in prop::collection::vec(0..EXPRESSIONS.len(), 1..3),
        zone in prop::sample::select(&ZONES[..]),
        exclude in prop::collection::vec(some_exclusion(), 1..5),
        days in 1..300u64) {
        let mut timing = GoalSchedule::of(cron(EXPRESSIONS[expressions[0]], zone, DstPolicy::default()));
        for more in &expressions[1..] {
            timing.rules.push(cron(EXPRESSIONS[*more], "Asia/Tokyo", DstPolicy::default()));
        }
        timing.exclude = exclude;
        timing.active_from = Some(moment("2026-02-01T00:00:00Z"));
        timing.active_until = timing.active_from.map(|from| from.after(Duration::from_hours(24 * days)));
        let (first, last) = (Moment::from_millis(i64::MIN), Moment::from_millis(i64::MAX));
        let mut open = timing.slots(first, last).filter(|slot| slot.excluded.is_none());
        prop_assert_eq!(timing.find_open_slot().is_some(), open.next().is_some());
        if let Some(slot) = timing.find_open_slot() {
            prop_assert!(slot.excluded.is_none());
        }
    }
}

/// The search ends at once, however many scheduled times there are or are excluded.
#[test]
#[expect(clippy::disallowed_methods, reason = "this measures")]
fn that_all_is_excluded_is_found_in_a_bounded_time() {
    let began = std::time::Instant::now();
    let of = |expression: &str, exclude: Vec<ScheduleExclusion>| {
        let mut timing = GoalSchedule::of(cron(expression, "Europe/Berlin", DstPolicy::default()));
        timing.exclude = exclude;
        timing.find_open_slot().map(|slot| slot.at.to_second())
    };
    assert_eq!(of("0 23 * * *", vec![daily("22:00", "06:00")]), None);
    assert_eq!(of("* * 5 * * *", vec![daily("05:00", "06:00")]), None);
    assert_eq!(of("* * 22-3 * * *", vec![daily("22:00", "02:00"), daily("01:30", "04:00")]), None);
    let minutes = |hour: usize| {
        move |minute: usize| daily(&format!("{hour:02}:{minute:02}"), &format!("{hour:02}:{:02}", minute + 1))
    };
    let many: Vec<ScheduleExclusion> = (0..23).flat_map(|hour| (0..59).map(minutes(hour))).collect();
    assert!(of("* * * * * *", many).is_some(), "the last minute of each hour is left");
    let days = |from: &str, until: &str| ScheduleExclusion::Dates {
        from: from.parse().unwrap(),
        until: until.parse().unwrap(),
    };
    let ever = || days("0001-01-01", "9999-12-31");
    assert_eq!(of("* * * * * *", vec![ever()]), None);
    assert_eq!(of("0 6 29 2 +MON", vec![ever()]), None);
    let almost = days("0001-01-01", "2999-12-31");
    assert!(of("* * * * * *", vec![almost]).is_some());
    // Every year has a Friday the 13th; it is always excluded.
    let fridays = ScheduleExclusion::Daily {
        from: "00:00".parse().unwrap(),
        until: "24:00".parse().unwrap(),
        on: vec![crate::schedule::Weekday::Fri],
    };
    assert_eq!(of("0 9 13 * +FRI", vec![fridays]), None);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}
