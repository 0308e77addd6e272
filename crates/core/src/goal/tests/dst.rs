//! Line 11 of the torture list: clock changes, in zones that other programs got wrong.

use super::world::{World, at, goal};
use wf_model::{
    MissedTimesChoice,
    schedule::{DstGapPolicy, DstOverlapPolicy, DstPolicy, TimingRule},
};

/// Returns the starts of a daily schedule, under a policy, between two instants. The result is the
/// same if the daemon runs all the time, or is restarted every 20 minutes.
#[track_caller]
fn begins(
    cron: &str,
    zone: &str,
    (gap, overlap): (DstGapPolicy, DstOverlapPolicy),
    days: (&str, &str),
) -> Vec<String> {
    let mut all = Vec::new();
    for is_steady in [true, false] {
        let mut goal = goal(cron, zone);
        goal.missed.run = MissedTimesChoice::All;
        for rule in &mut goal.timing.rules {
            if let TimingRule::Cron { dst, .. } = rule {
                *dst = DstPolicy { gap, overlap };
            }
        }
        let mut world = World::new(goal);
        let (from, to) = (at(days.0), at(days.1));
        if is_steady {
            world.live(from, to);
        } else {
            let mut now = from;
            while now < to {
                world.look(now);
                now = now.after(std::time::Duration::from_mins(20));
            }
            world.look(to);
        }
        all.push(world.slots());
    }
    assert_eq!(all[0], all[1], "{cron} in {zone}");
    all.swap_remove(0)
}

#[test]
fn t11_a_time_that_is_passed_over_comes_when_the_clock_goes_forward_or_not_at_all() {
    for (zone, cron, days, moved, skipped) in [
        (
            "America/New_York",
            "30 2 * * *",
            ("2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z"),
            vec!["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"],
            vec!["2026-03-09T06:30:00Z"],
        ),
        (
            "Europe/London",
            "30 1 * * *",
            ("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z"),
            vec!["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
            vec!["2026-03-30T00:30:00Z"],
        ),
        // By half an hour only.
        (
            "Australia/Lord_Howe",
            "15 2 * * *",
            ("2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z"),
            vec!["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"],
            vec!["2026-10-04T15:15:00Z"],
        ),
        // Midnight does not exist.
        (
            "America/Santiago",
            "0 0 * * *",
            ("2026-09-05T12:00:00Z", "2026-09-07T12:00:00Z"),
            vec!["2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"],
            vec!["2026-09-07T03:00:00Z"],
        ),
        (
            "Asia/Amman",
            "0 0 * * *",
            ("2022-02-24T12:00:00Z", "2022-02-26T12:00:00Z"),
            vec!["2022-02-24T22:00:00Z", "2022-02-25T21:00:00Z"],
            vec!["2022-02-25T21:00:00Z"],
        ),
        (
            "Africa/Cairo",
            "0 0 * * *",
            ("2026-04-23T12:00:00Z", "2026-04-25T12:00:00Z"),
            vec!["2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"],
            vec!["2026-04-24T21:00:00Z"],
        ),
        // The day does not exist.
        (
            "Pacific/Apia",
            "0 12 * * *",
            ("2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z"),
            vec!["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"],
            vec!["2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"],
        ),
    ] {
        let found = begins(cron, zone, (DstGapPolicy::RunAtTransition, DstOverlapPolicy::First), days);
        assert_eq!(found, moved, "{zone}");
        let found = begins(cron, zone, (DstGapPolicy::Skip, DstOverlapPolicy::First), days);
        assert_eq!(found, skipped, "{zone}");
    }
}

#[test]
fn t11_a_time_that_is_shown_twice_comes_as_often_as_is_asked() {
    for (zone, cron, days, first, last) in [
        (
            "America/New_York",
            "30 1 * * *",
            ("2026-11-01T00:00:00Z", "2026-11-01T12:00:00Z"),
            "2026-11-01T05:30:00Z",
            "2026-11-01T06:30:00Z",
        ),
        (
            "Europe/London",
            "30 1 * * *",
            ("2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"),
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:30:00Z",
        ),
        (
            "Australia/Lord_Howe",
            "45 1 * * *",
            ("2026-04-04T00:00:00Z", "2026-04-05T00:00:00Z"),
            "2026-04-04T14:45:00Z",
            "2026-04-04T15:15:00Z",
        ),
        (
            "America/Santiago",
            "30 23 * * *",
            ("2026-04-04T12:00:00Z", "2026-04-05T12:00:00Z"),
            "2026-04-05T02:30:00Z",
            "2026-04-05T03:30:00Z",
        ),
        (
            "Asia/Amman",
            "30 0 * * *",
            ("2021-10-28T12:00:00Z", "2021-10-29T12:00:00Z"),
            "2021-10-28T21:30:00Z",
            "2021-10-28T22:30:00Z",
        ),
        (
            "Africa/Cairo",
            "30 23 * * *",
            ("2026-10-29T12:00:00Z", "2026-10-30T12:00:00Z"),
            "2026-10-29T20:30:00Z",
            "2026-10-29T21:30:00Z",
        ),
    ] {
        let found = |fold| begins(cron, zone, (DstGapPolicy::RunAtTransition, fold), days);
        assert_eq!(found(DstOverlapPolicy::First), [first], "{zone}");
        assert_eq!(found(DstOverlapPolicy::Last), [last], "{zone}");
        assert_eq!(found(DstOverlapPolicy::Both), [first, last], "{zone}");
    }
}
