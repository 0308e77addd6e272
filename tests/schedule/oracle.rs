//! Another implementation, `croner`, says the same where it speaks the same dialect.
//!
//! Left out on purpose: ranges over the end of a field and `N/step`, which it does not read; days
//! on which clocks are changed, where it has one policy of its own (intervals are never moved to
//! the end of a gap there).

use croner::parser::{CronParser, Seconds};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use proptest::prelude::*;
use wf_base::time::Moment;
use wf_model::schedule::{CronExpression, DstPolicy, GoalSchedule, ScheduleZone, TimingRule};

const ZONES: [&str; 5] =
    ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"];

/// A field of numbers: `*`, a value, a list, a range, a step.
fn field(min: u32, max: u32) -> impl Strategy<Value = String> {
    let value = min..=max;
    let range = (min..=max, min..=max).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        3 => Just("*".to_owned()),
        3 => value.clone().prop_map(|value| value.to_string()),
        2 => prop::collection::btree_set(value, 1..4).prop_map(|set| {
            set.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }),
        2 => range.clone().prop_map(|(from, until)| format!("{from}-{until}")),
        1 => (range, 1..=9u32).prop_map(|((from, until), step)| format!("{from}-{until}/{step}")),
        1 => (2..=9u32).prop_map(|step| format!("*/{step}")),
    ]
}

fn month_day() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("*".to_owned()),
        3 => field(1, 28),
        1 => Just("L".to_owned()),
        1 => (1..=28u32).prop_map(|day| format!("{day}W")),
        1 => Just("31".to_owned()),
    ]
}

fn week_day() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("*".to_owned()),
        2 => (0..=7u32).prop_map(|day| day.to_string()),
        2 => Just("MON-FRI".to_owned()),
        1 => (0..=6u32, 1..=4u32).prop_map(|(day, nth)| format!("{day}#{nth}")),
        1 => (0..=6u32).prop_map(|day| format!("{day}#L")),
    ]
}

fn theirs(expression: &str, zone: &str, from: i64, n: usize) -> Option<Vec<i64>> {
    let cron = CronParser::builder().seconds(Seconds::Optional).build().parse(expression).ok()?;
    let start: Zoned = Timestamp::from_second(from).ok()?.to_zoned(TimeZone::get(zone).ok()?);
    let slots = cron.iter_after(start).take(n);
    Some(slots.map(|slot| slot.timestamp().as_second()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn another_implementation_says_the_same(
        seconds in prop_oneof![3 => Just(None), 1 => field(0, 59).prop_map(Some)],
        (minutes, hours) in (field(0, 59), field(0, 23)),
        (days, months, week) in (month_day(), field(1, 12), week_day()),
        zone in prop::sample::select(&ZONES[..]),
        from in 0i64..4_000_000_000,
    ) {
        let mut expression = format!("{minutes} {hours} {days} {months} {week}");
        if let Some(seconds) = seconds {
            expression = format!("{seconds} {expression}");
        }
        // There, a step of all days restricts; here, as in Vixie's cron, it does not.
        prop_assume!(!(days.starts_with("*/") && week != "*"));
        let (Ok(cron), Some(theirs)) = (CronExpression::parse(&expression), theirs(&expression, zone, from, 12))
        else {
            return Err(TestCaseError::reject("one of them does not take it"));
        };
        let timing = GoalSchedule::of(TimingRule::Cron {
            expression: cron,
            zone: ScheduleZone::parse(zone).unwrap(),
            dst: DstPolicy::default(),
        });
        let Some(last) = theirs.last() else {
            return Err(TestCaseError::reject("it does not look that far"));
        };
        let (after, until) = (Moment::from_millis(from * 1_000), Moment::from_millis(last * 1_000));
        let still = |at: &i64| timing.zone.change_on(Moment::from_millis(at * 1_000)).is_none();
        let ours = timing.slots(after, until).map(|slot| slot.at.millis() / 1_000);
        let ours: Vec<i64> = ours.filter(|at| still(at)).collect();
        let theirs: Vec<i64> = theirs.into_iter().filter(|at| still(at)).collect();
        prop_assert_eq!(ours, theirs, "{} {} from {}", expression, zone, after);
    }
}
