//! Years of slots in every zone, lived through by the daemon's own code: each slot is accounted for
//! once, none begins early, and none beside another where that is not allowed.
//!
//! `benches/goals.rs` uses it for thirty years.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use wf_base::{keyword::Keyword, name::PlanId, time::Moment};
use wf_core::goal::{InMemoryLedger, SimulationResult, SimulationScenario, SlotEntry, SlotState, simulate};
use wf_model::{
    Goal, GoalApproval, GoalOverlapPolicy, MissedTimesChoice, MissedTimesPolicy, OnUnmet,
    schedule::{
        CronExpression, DstGapPolicy, DstOverlapPolicy, DstPolicy, GoalSchedule, ScheduleExclusion,
        ScheduleZone, TimingRule,
    },
};

/// Schedules of times at which clocks are changed, of days that are rare, and of many slots.
const HOSTILE: [&str; 8] = [
    "30 2 * * *",
    "0 0 * * *",
    "15,45 1-3 * * SUN",
    "*/30 0-3 * 3,4,9-11 *",
    "59 23 L * *",
    "0 0 29 2 *",
    "0 0 31 * *",
    "30 1,2,23 * * *",
];

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// How many slots there were.
    pub slots: u64,
    /// How many began.
    pub begun: u64,
    /// How often the daemon woke.
    pub wakes: u64,
}

/// A goal of a zone; which one follows from a number.
fn goal(zone: &str, number: usize) -> Goal {
    let pick = |from: usize, of: usize| number / from % of;
    let zone = ScheduleZone::parse(zone).expect("the zone is known");
    let dst = DstPolicy {
        gap: [DstGapPolicy::RunAtTransition, DstGapPolicy::Skip][pick(1, 2)],
        overlap: [DstOverlapPolicy::First, DstOverlapPolicy::Last, DstOverlapPolicy::Both][pick(2, 3)],
    };
    let expression = CronExpression::parse(HOSTILE[pick(1, HOSTILE.len())]).expect("a schedule");
    let mut timing = GoalSchedule::of(TimingRule::Cron { expression, zone, dst });
    timing.splay = [Duration::ZERO, Duration::from_mins(25)][pick(5, 2)];
    if number.is_multiple_of(3) {
        let (from, until) = ("23:30".parse().expect("a time"), "01:15".parse().expect("a time"));
        let on = Vec::new();
        timing.exclude.push(ScheduleExclusion::Daily { from, until, on });
    }
    Goal {
        id: PlanId::parse(&format!("goal-{number}")).expect("an id"),
        title: None,
        path: "goal.md".into(),
        timing,
        missed: MissedTimesPolicy {
            run: MissedTimesChoice::ALL[pick(3, 3)],
            window: Duration::from_hours(30),
            cap: 3,
        },
        window: Goal::WINDOW,
        overlap: GoalOverlapPolicy::ALL[pick(1, 5)],
        auto_pause_after: None,
        backend: None,
        on_failure: OnUnmet::default(),
        is_job: false,
        approval: GoalApproval::default(),
        notify: Vec::new(),
    }
}

/// Lets a goal of a zone live through a time with many outages, and looks at all that came of it.
pub fn live(zone: &str, number: usize, (from, to): (Moment, Moment)) -> Seen {
    let goal = Arc::new(goal(zone, number));
    // Out for 7 hours every 61, so that each hour of the day is met.
    let outages = (0i64..).map(|n| {
        let from = Moment::from_millis(from.millis() + (n * 61 + 20) * 3_600_000);
        (from, from.after(Duration::from_hours(7)))
    });
    let outages: Vec<_> = outages.take_while(|(_, back)| *back < to).collect();
    let minutes = [0, 1, 45, 180][number % 4];
    let simulated = simulate(SimulationScenario {
        goals: vec![Arc::clone(&goal)],
        from,
        to,
        takes: BTreeMap::from([(goal.id.clone(), Duration::from_mins(minutes))]),
        outages: outages.clone(),
    });
    let rows = simulated.ledger.rows(&goal.id);
    assert!(
        goal.overlap == GoalOverlapPolicy::Allow || simulated.overlaps.is_empty(),
        "{zone}: {:?}",
        simulated.overlaps.first()
    );
    let offset = goal.timing.offset(goal.id.as_str());
    for (row, at) in rows {
        let early = at < row.slot.after(offset);
        let out = outages.iter().any(|(from, back)| *from <= at && at < *back);
        assert!(!early && !out, "{zone}: decided at {at}: {row:?}");
    }
    let (slots, begun) = accounted(&goal, &simulated, (from, to));
    Seen { slots, begun, wakes: simulated.wakes }
}

/// Compares what is accounted for with what the timing yields; gives how many slots there were,
/// and how many began.
fn accounted(goal: &Goal, simulated: &SimulationResult, (from, to): (Moment, Moment)) -> (u64, u64) {
    let offset = goal.timing.offset(goal.id.as_str());
    let ledger: &InMemoryLedger = &simulated.ledger;
    let rows: Vec<&SlotEntry> = ledger.rows(&goal.id).map(|(row, _)| row).collect();
    let mut slots = goal.timing.slots(from, to).peekable();
    let (mut count, mut begun) = (0, 0);
    for row in rows {
        for n in 0..row.count {
            let slot = slots.next().expect("no row is about nothing");
            assert!(n > 0 || slot.at == row.slot, "{slot:?} is not in {row:?}");
            assert!(n + 1 < row.count || slot.at == row.last, "{slot:?} {row:?}");
            let skipped = row.state == SlotState::Skipped;
            assert!(slot.excluded.is_none() || skipped, "{slot:?} {row:?}");
            count += 1;
        }
        begun += u64::from(row.state == SlotState::Started);
    }
    let left = slots.find(|slot| slot.at.after(offset) < to);
    assert!(left.is_none(), "nothing is said of {left:?}");
    let said = simulated.cycles.get(&goal.id).copied().unwrap_or_default();
    assert_eq!(said, begun, "each that began is said to have begun");
    (count, begun)
}

/// A year in which much happens, in every zone.
#[test]
fn every_zone_lives_through_a_year() {
    let year = ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    let year = (Moment::parse(year.0).unwrap(), Moment::parse(year.1).unwrap());
    let zones = ScheduleZone::names();
    assert!(zones.len() > 400, "{} zones", zones.len());
    let mut all = Seen::default();
    for (number, zone) in zones.iter().enumerate() {
        let seen = live(zone, number, year);
        all.slots += seen.slots;
        all.begun += seen.begun;
        all.wakes += seen.wakes;
    }
    assert!(all.wakes >= all.begun / 3, "{all:?}");
    assert!(all.begun > 50_000 && all.slots > all.begun, "{all:?}");
}
