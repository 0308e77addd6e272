//! What holds for every timing.

use std::time::Duration;

use proptest::prelude::*;

use super::{Cron, Dst, DstNote, Exclusion, Fold, Gap, Slot, Timing, When, Zone};
use crate::time::Moment;

const EXPRESSIONS: [&str; 10] = [
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

const ZONES: [&str; 6] = [
    "UTC",
    "Europe/Berlin",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
];

fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

fn cron(expression: &str, zone: &str, dst: Dst) -> When {
    When::Cron {
        expression: Cron::parse(expression).unwrap(),
        zone: Zone::parse(zone).unwrap(),
        dst,
    }
}

fn once(civil: &str, zone: &str, gap: Gap, overlap: Fold) -> Timing {
    Timing::of(When::At {
        civil: civil.parse().unwrap(),
        zone: Zone::parse(zone).unwrap(),
        dst: Dst { gap, overlap },
    })
}

fn at(slots: impl Iterator<Item = Slot>) -> Vec<String> {
    slots
        .map(|slot| slot.at.to_string().replace(":00.000Z", "Z"))
        .collect()
}

fn all(timing: &Timing, from: &str, until: &str) -> Vec<String> {
    at(timing.slots(moment(from), moment(until)))
}

fn timing() -> impl Strategy<Value = Timing> {
    let dst = prop_oneof![
        Just(Dst::default()),
        Just(Dst {
            gap: Gap::Skip,
            overlap: Fold::Both
        }),
        Just(Dst {
            gap: Gap::RunAtTransition,
            overlap: Fold::Last
        }),
    ];
    let zone = prop::sample::select(&ZONES[..]);
    let rule = (prop::sample::select(&EXPRESSIONS[..]), zone, dst)
        .prop_map(|(expression, zone, dst)| cron(expression, zone, dst));
    (prop::collection::vec(rule, 1..4), any::<bool>()).prop_map(|(rules, night)| {
        let mut timing = Timing::of(rules[0].clone());
        timing.rules = rules;
        if night {
            timing.exclude.push(Exclusion::Daily {
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
        lengths in (0i64..200_000_000, 0i64..200_000_000),
    ) {
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
        let back: Timing = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), text);
        prop_assert_eq!(back, timing);
    }

    #[test]
    fn no_text_is_too_strange_to_be_looked_at(text in "[0-9*/,?#LWlw@+ \\-a-zé]{0,30}") {
        match Cron::parse(&text) {
            Ok(cron) => {
                let due = Timing::of(When::Cron { expression: cron, zone: Zone::utc(), dst: Dst::default() });
                prop_assert!(due.next(Moment::from_millis(0)).is_some(), "{text} is never due");
            }
            Err(bad) => prop_assert!(text.get(bad.at.clone()).is_some(), "{text}: {bad:?}"),
        }
    }
}

#[test]
fn several_rules_make_one_row_of_slots() {
    let mut timing = Timing::of(cron("0 */6 * * *", "UTC", Dst::default()));
    timing
        .rules
        .push(cron("0 1,13 * * *", "Europe/Berlin", Dst::default()));
    let slots = all(&timing, "2026-01-01T00:00:00Z", "2026-01-01T23:00:00Z");
    let expected = ["06:00Z", "12:00Z", "18:00Z"].map(|at| format!("2026-01-01T{at}"));
    assert_eq!(slots, expected);
    timing.rules.push(cron("30 7 * * *", "UTC", Dst::default()));
    let slots = all(&timing, "2026-01-01T06:00:00Z", "2026-01-01T12:00:00Z");
    assert_eq!(slots, ["2026-01-01T07:30Z", "2026-01-01T12:00Z"]);
}

#[test]
fn what_is_due_anyway_is_not_in_place_of_something() {
    let mut timing = Timing::of(cron("30 2 * * *", "Europe/Berlin", Dst::default()));
    let next = |timing: &Timing| timing.next(moment("2026-03-28T12:00:00Z")).unwrap();
    assert_eq!(next(&timing).note, Some(DstNote::AtTransition));
    timing.rules.push(cron("0 1 * * *", "UTC", Dst::default()));
    assert_eq!(next(&timing).at, moment("2026-03-29T01:00:00Z"));
    assert_eq!(next(&timing).note, None);
}

#[test]
fn a_time_that_comes_once_goes_by_the_policy() {
    let around = |timing: &Timing| all(timing, "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z");
    let plain = once("2026-12-01T09:00", "Europe/Berlin", Gap::Skip, Fold::First);
    assert_eq!(around(&plain), ["2026-12-01T08:00Z"]);
    assert_eq!(plain.next(moment("2026-12-01T08:00:00Z")), None);
    assert_eq!(plain.prev(moment("2026-12-01T08:00:00Z")), None);
    assert_eq!(
        plain.prev(moment("2090-12-01T08:00:00Z")).unwrap().at,
        moment("2026-12-01T08:00:00Z")
    );
    let gap = |gap| around(&once("2026-03-29T02:30", "Europe/Berlin", gap, Fold::First));
    assert!(gap(Gap::Skip).is_empty());
    assert_eq!(gap(Gap::RunAtTransition), ["2026-03-29T01:00Z"]);
    let fold = |fold| around(&once("2026-10-25T02:30", "Europe/Berlin", Gap::Skip, fold));
    assert_eq!(fold(Fold::First), ["2026-10-25T00:30Z"]);
    assert_eq!(fold(Fold::Last), ["2026-10-25T01:30Z"]);
    assert_eq!(fold(Fold::Both), ["2026-10-25T00:30Z", "2026-10-25T01:30Z"]);
}

#[test]
fn nothing_is_due_outside_of_its_time() {
    let mut timing = Timing::of(cron("0 * * * *", "UTC", Dst::default()));
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
    let mut timing = Timing::of(cron("0 5,23 * * *", "Europe/Berlin", Dst::default()));
    timing
        .exclude
        .push(Exclusion::Date("2026-12-25".parse().unwrap()));
    let slots = timing.slots(
        moment("2026-12-24T12:00:00Z"),
        moment("2026-12-26T12:00:00Z"),
    );
    let why: Vec<Option<String>> = slots.map(|slot| slot.excluded).collect();
    let day = Some("2026-12-25 is excluded".to_owned());
    assert_eq!(why, [None, day.clone(), day, None]);
}

#[test]
fn goals_begin_spread_over_their_splay() {
    let mut timing = Timing::of(cron("0 * * * *", "UTC", Dst::default()));
    assert_eq!(timing.offset("backup"), Duration::ZERO);
    timing.splay = Duration::from_mins(10);
    let offsets: Vec<Duration> = (0..200)
        .map(|at| timing.offset(&format!("goal-{at}")))
        .collect();
    assert!(offsets.iter().all(|offset| *offset < timing.splay));
    let early = offsets
        .iter()
        .filter(|offset| offset.as_secs() < 300)
        .count();
    assert!(
        (70..130).contains(&early),
        "{early} of 200 begin in the first half"
    );
    // The first eight bytes of the SHA-256 of the id, modulo 600,000: the same on every machine.
    assert_eq!(timing.offset("backup"), Duration::from_millis(450_680));
}

#[test]
fn the_ends_of_time_are_quiet() {
    let timing = Timing::of(cron("* * * * * *", "Europe/Berlin", Dst::default()));
    let end = Moment::from_millis(i64::MAX);
    assert_eq!(timing.next(end), None);
    assert_eq!(timing.prev(Moment::from_millis(i64::MIN)), None);
    assert_eq!(timing.slots(end, Moment::from_millis(0)).count(), 0);
    assert!(timing.next(Moment::from_millis(i64::MIN)).is_some());
    assert!(timing.prev(end).is_some());
}

fn daily(from: &str, until: &str) -> Exclusion {
    Exclusion::Daily {
        from: from.parse().unwrap(),
        until: until.parse().unwrap(),
        on: Vec::new(),
    }
}

/// In Berlin clocks pass over 02:00 to 03:00 of March 29, and what was asked for then comes at 03:00.
#[test]
fn what_is_excluded_is_what_was_asked_for_and_not_where_clocks_moved_it() {
    let excluded = |exclude: Exclusion, zone: &str, (expression, from): (&str, &str)| {
        let mut timing = Timing::of(cron(expression, zone, Dst::default()));
        timing.exclude.push(exclude);
        let slot = timing.next(moment(from)).unwrap();
        (slot.note, slot.excluded.is_some())
    };
    let moved = Some(DstNote::AtTransition);
    let berlin = |exclude, expression| {
        excluded(
            exclude,
            "Europe/Berlin",
            (expression, "2026-03-28T12:00:00Z"),
        )
    };
    assert_eq!(berlin(daily("02:00", "03:00"), "30 2 * * *"), (moved, true));
    assert_eq!(
        berlin(daily("03:00", "04:00"), "30 2 * * *"),
        (moved, false)
    );
    // Of several that were passed over one is enough.
    assert_eq!(
        berlin(daily("02:00", "02:20"), "10,30 2 * * *"),
        (moved, false)
    );
    assert_eq!(
        berlin(daily("02:00", "02:40"), "10,30 2 * * *"),
        (moved, true)
    );
    // Apia had no December 30.
    let apia = |day: &str| {
        let exclude = Exclusion::Date(day.parse().unwrap());
        let at = ("0 9 30 12 *", "2011-12-01T00:00:00Z");
        excluded(exclude, "Pacific/Apia", at)
    };
    assert_eq!(apia("2011-12-30"), (moved, true));
    assert_eq!(apia("2011-12-31"), (moved, false));
}

#[test]
fn what_a_rule_asks_for_is_excluded_by_the_clocks_of_its_own_zone() {
    let mut timing = Timing::of(cron("0 9 * * *", "Europe/Berlin", Dst::default()));
    timing
        .rules
        .push(cron("0 9 * * *", "Asia/Tokyo", Dst::default()));
    timing.exclude.push(daily("08:00", "10:00"));
    let slots = |timing: &Timing| -> Vec<(String, Option<String>, String)> {
        let slots = timing.slots(
            moment("2026-01-01T12:00:00Z"),
            moment("2026-01-02T12:00:00Z"),
        );
        let told = |slot: Slot| {
            let zone = timing.zone_of(&slot);
            (
                zone.local(slot.at).to_string(),
                slot.excluded,
                zone.to_string(),
            )
        };
        slots.map(told).collect()
    };
    let why = Some("08:00 to 10:00 is excluded".to_owned());
    let tokyo = (
        "2026-01-02T09:00:00+09:00".to_owned(),
        why.clone(),
        "Asia/Tokyo".to_owned(),
    );
    let berlin = (
        "2026-01-02T09:00:00+01:00".to_owned(),
        why,
        "Europe/Berlin".to_owned(),
    );
    assert_eq!(slots(&timing), [tokyo, berlin]);
    assert_eq!(timing.one_zone(), None);
    assert_eq!(
        timing.zone_at(moment("2026-01-02T00:00:00Z")).name(),
        "Asia/Tokyo"
    );
    // 17:00 in Tokyo is 09:00 in Berlin: who asks for the latter is excluded, the other is not.
    timing.rules[1] = cron("0 17 * * *", "Asia/Tokyo", Dst::default());
    let [(local, excluded, zone)] = &slots(&timing)[..] else {
        panic!("one instant is one slot");
    };
    assert_eq!(
        (local.as_str(), zone.as_str()),
        ("2026-01-02T17:00:00+09:00", "Asia/Tokyo")
    );
    assert_eq!(*excluded, None);
}

fn some_exclusion() -> impl Strategy<Value = Exclusion> {
    let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let day = |days: u32| format!("2026-{:02}-{:02}", days / 28 % 12 + 1, days % 28 + 1);
    prop_oneof![
        3 => (0..48u32, 1..48u32, prop::collection::vec(prop::sample::select(&super::Weekday::ALL[..]), 0..4))
            .prop_filter_map("a window", move |(from, until, on)| Some(Exclusion::Daily {
                from: clock(from * 30).parse().ok()?,
                until: clock(until * 30).parse().ok()?,
                on,
            })),
        1 => (0..336u32, 0..336u32).prop_filter_map("days", move |(one, other)| {
            let (from, until) = (one.min(other), one.max(other));
            Some(Exclusion::Dates { from: day(from).parse().ok()?, until: day(until).parse().ok()? })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Of timings that end within a year every slot can be looked at.
    #[test]
    fn there_is_a_free_slot_where_any_is_not_excluded(
        expressions in prop::collection::vec(0..EXPRESSIONS.len(), 1..3),
        zone in prop::sample::select(&ZONES[..]),
        exclude in prop::collection::vec(some_exclusion(), 1..5),
        days in 1..300u64,
    ) {
        let mut timing = Timing::of(cron(EXPRESSIONS[expressions[0]], zone, Dst::default()));
        for more in &expressions[1..] {
            timing.rules.push(cron(EXPRESSIONS[*more], "Asia/Tokyo", Dst::default()));
        }
        timing.exclude = exclude;
        timing.active_from = Some(moment("2026-02-01T00:00:00Z"));
        timing.active_until = timing.active_from.map(|from| from.after(Duration::from_hours(24 * days)));
        let (first, last) = (Moment::from_millis(i64::MIN), Moment::from_millis(i64::MAX));
        let mut open = timing.slots(first, last).filter(|slot| slot.excluded.is_none());
        prop_assert_eq!(timing.free().is_some(), open.next().is_some());
        if let Some(slot) = timing.free() {
            prop_assert!(slot.excluded.is_none());
        }
    }
}

/// However often something is due, and however much of it is excluded, that is found out at once.
#[test]
#[expect(clippy::disallowed_methods, reason = "this measures")]
fn that_all_is_excluded_is_found_in_a_bounded_time() {
    let began = std::time::Instant::now();
    let of = |expression: &str, exclude: Vec<Exclusion>| {
        let mut timing = Timing::of(cron(expression, "Europe/Berlin", Dst::default()));
        timing.exclude = exclude;
        timing.free().map(|slot| slot.at.to_second())
    };
    assert_eq!(of("0 23 * * *", vec![daily("22:00", "06:00")]), None);
    assert_eq!(of("* * 5 * * *", vec![daily("05:00", "06:00")]), None);
    assert_eq!(
        of(
            "* * 22-3 * * *",
            vec![daily("22:00", "02:00"), daily("01:30", "04:00")]
        ),
        None
    );
    let minutes = |hour: usize| {
        move |minute: usize| {
            daily(
                &format!("{hour:02}:{minute:02}"),
                &format!("{hour:02}:{:02}", minute + 1),
            )
        }
    };
    let many: Vec<Exclusion> = (0..23)
        .flat_map(|hour| (0..59).map(minutes(hour)))
        .collect();
    assert!(
        of("* * * * * *", many).is_some(),
        "the last minute of each hour is left"
    );
    let days = |from: &str, until: &str| Exclusion::Dates {
        from: from.parse().unwrap(),
        until: until.parse().unwrap(),
    };
    let ever = || days("0001-01-01", "9999-12-31");
    assert_eq!(of("* * * * * *", vec![ever()]), None);
    assert_eq!(of("0 6 29 2 +MON", vec![ever()]), None);
    let almost = days("0001-01-01", "2999-12-31");
    assert!(of("* * * * * *", vec![almost]).is_some());
    // In years, Friday the 13th comes; it is always excluded.
    let fridays = Exclusion::Daily {
        from: "00:00".parse().unwrap(),
        until: "24:00".parse().unwrap(),
        on: vec![super::Weekday::Fri],
    };
    assert_eq!(of("0 9 13 * +FRI", vec![fridays]), None);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}
