//! Every change of clocks of every zone from 1970 to 2037, under every policy.
//!
//! What is expected is found another way: the instants of a time are those at which some offset
//! near the change makes a clock show it, as the database says for each instant.

use std::collections::BTreeSet;

use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase, db},
};
use wf_base::time::Moment;
use wf_model::schedule::{
    CronExpression, DstGapPolicy, DstNote, DstOverlapPolicy, DstPolicy, GoalSchedule, ScheduleZone, Slot,
    TimingRule,
};

const DAY: i64 = 86_400;

/// A change: when, and how far clocks are from UTC before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at: i64,
    before: i64,
    after: i64,
}

fn stamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn offset(zone: &TimeZone, seconds: i64) -> i64 {
    i64::from(zone.to_offset(stamp(seconds)).seconds())
}

fn changes(zone: &TimeZone) -> Vec<Change> {
    let from = Timestamp::UNIX_EPOCH;
    let until: Timestamp = "2038-01-01T00:00:00Z".parse().unwrap();
    zone.following(from)
        .take_while(|change| change.timestamp() < until)
        .map(|change| change.timestamp().as_second())
        .map(|at| Change { at, before: offset(zone, at - 1), after: offset(zone, at) })
        .filter(|change| change.before != change.after)
        .collect()
}

/// The instants at which clocks show a time.
fn instants(zone: &TimeZone, offsets: &BTreeSet<i64>, local: i64) -> Vec<i64> {
    let mut found: Vec<i64> = offsets
        .iter()
        .map(|by| (local - by, *by))
        .filter(|(at, by)| offset(zone, *at) == *by)
        .map(|(at, _)| at)
        .collect();
    found.sort_unstable();
    found
}

/// A change is a gap or an overlap, never both; so each policy of each is here.
const POLICIES: [(DstGapPolicy, DstOverlapPolicy); 3] = [
    (DstGapPolicy::RunAtTransition, DstOverlapPolicy::First),
    (DstGapPolicy::RunAtTransition, DstOverlapPolicy::Last),
    (DstGapPolicy::Skip, DstOverlapPolicy::Both),
];

/// One change in one zone, and what is looked at around it.
struct Scene<'a> {
    ours: &'a ScheduleZone,
    zone: &'a TimeZone,
    change: Change,
    offsets: BTreeSet<i64>,
    from: i64,
    until: i64,
}

impl Scene<'_> {
    fn timing(&self, expression: &str, gap: DstGapPolicy, overlap: DstOverlapPolicy) -> GoalSchedule {
        GoalSchedule::of(TimingRule::Cron {
            expression: CronExpression::parse(expression).unwrap(),
            zone: self.ours.clone(),
            dst: DstPolicy { gap, overlap },
        })
    }

    fn slots(&self, timing: &GoalSchedule) -> Vec<Slot> {
        let moment = |seconds: i64| Moment::from_millis(seconds * 1_000);
        let slots: Vec<Slot> = timing.slots(moment(self.from), moment(self.until)).collect();
        let inside = |slot: &Slot| slot.at > moment(self.from) && slot.at <= moment(self.until);
        assert!(slots.iter().all(inside), "{self}: {slots:?}");
        assert!(slots.is_sorted_by(|a, b| a.at < b.at), "{self}: {slots:?}");
        if let Some(first) = slots.first() {
            assert_eq!(timing.next(moment(self.from)).as_ref(), Some(first), "{self}");
        }
        slots
    }

    /// A time in the middle of what is passed over or shown twice, on that one day.
    fn fixed(&self, gap: DstGapPolicy, overlap: DstOverlapPolicy) {
        let local = self.change.at + i64::midpoint(self.change.before, self.change.after);
        let civil = jiff::civil::DateTime::from(jiff::civil::date(1970, 1, 1))
            + jiff::SignedDuration::from_secs(local);
        let expression = format!(
            "{} {} {} {} {} *",
            civil.second(),
            civil.minute(),
            civil.hour(),
            civil.day(),
            civil.month()
        );
        let mut expected = instants(self.zone, &self.offsets, local);
        let passed_over = expected.is_empty();
        match overlap {
            _ if passed_over && gap == DstGapPolicy::RunAtTransition => expected.push(self.change.at),
            DstOverlapPolicy::First => expected.truncate(1),
            DstOverlapPolicy::Last => expected = expected.last().copied().into_iter().collect(),
            DstOverlapPolicy::Both => {}
        }
        expected.retain(|at| (self.from + 1..=self.until).contains(at));
        let slots = self.slots(&self.timing(&expression, gap, overlap));
        let found: Vec<i64> = slots.iter().map(|slot| slot.at.millis() / 1_000).collect();
        assert_eq!(found, expected, "{self}: {expression} {gap:?} {overlap:?}");
        for slot in slots {
            let moved = slot.note == Some(DstNote::AtTransition);
            assert_eq!(moved, passed_over, "{self}: {expression} {slot:?}");
        }
    }

    /// Every quarter of an hour, whatever the overlap.
    fn interval(&self, gap: DstGapPolicy, overlap: DstOverlapPolicy) {
        let mut expected = BTreeSet::new();
        for by in &self.offsets {
            let local = self.from + by;
            let mut at = self.from + 900 - local.rem_euclid(900);
            while at <= self.until {
                if offset(self.zone, at) == *by {
                    expected.insert(at);
                }
                at += 900;
            }
        }
        let first = self.change.at + self.change.before;
        let next = first + (900 - first.rem_euclid(900)) % 900;
        // What is passed over and shown at no other time either.
        let passed_over =
            next < self.change.at + self.change.after && instants(self.zone, &self.offsets, next).is_empty();
        if gap == DstGapPolicy::RunAtTransition && passed_over {
            expected.insert(self.change.at);
        }
        let slots = self.slots(&self.timing("*/15 * * * *", gap, overlap));
        let found: Vec<i64> = slots.iter().map(|slot| slot.at.millis() / 1_000).collect();
        let expected: Vec<i64> = expected.into_iter().collect();
        assert_eq!(found, expected, "{self}: {gap:?} {overlap:?}");
    }
}

impl std::fmt::Display for Scene<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {:?}", self.ours, stamp(self.change.at), self.change)
    }
}

/// The zone as the database has it, found as `wf` finds it.
fn zone(name: &str) -> TimeZone {
    db().get(name).or_else(|_| TimeZoneDatabase::bundled().get(name)).unwrap()
}

#[test]
fn every_change_of_every_zone_goes_by_the_policy() {
    let names = ScheduleZone::names();
    let mut all = 0;
    for name in &names {
        let zone = zone(name);
        let ours = ScheduleZone::parse(name).unwrap();
        let changes = changes(&zone);
        all += changes.len();
        for change in &changes {
            let reach = (change.after - change.before).abs() + 3_601;
            let scene = Scene {
                ours: &ours,
                zone: &zone,
                change: *change,
                offsets: near(&changes, change, 2 * DAY),
                from: change.at - reach,
                until: change.at + reach,
            };
            for (gap, overlap) in POLICIES {
                scene.fixed(gap, overlap);
                // An interval is the same whatever the overlap.
                if overlap != DstOverlapPolicy::First {
                    scene.interval(gap, overlap);
                }
            }
        }
    }
    assert!(names.len() > 550, "{} zones", names.len());
    assert!(all > 20_000, "{all} changes");
}

/// The offsets that hold within so many seconds of a change.
fn near(changes: &[Change], change: &Change, reach: i64) -> BTreeSet<i64> {
    changes
        .iter()
        .filter(|other| (other.at - change.at).abs() <= reach)
        .flat_map(|other| [other.before, other.after])
        .collect()
}
