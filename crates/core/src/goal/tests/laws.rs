//! The laws, whatever the clock, the daemon and the user do: every slot is accounted for exactly
//! once, starts at most once, not before its time, and not in a pause.

use std::{collections::BTreeSet, time::Duration};

use proptest::prelude::*;

use super::world::{World, goal, seconds, timing};
use crate::goal::{GoalLedger, SlotState, known::instant_before};
use wf_base::{keyword::Keyword, time::Moment};
use wf_model::{
    Goal, GoalOverlapPolicy, MissedTimesChoice,
    schedule::{GoalSchedule, ScheduleExclusion, Slot},
};

/// An action in a history.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// The daemon runs for so many seconds.
    Live(u32),
    /// No daemon runs for so many seconds.
    Down(u32),
    /// The clock is set, by milliseconds.
    Set(i64),
    /// The daemon dies between a decision and its actions.
    Die,
    Pause,
    Resume,
    /// Reconciliations take so many seconds from here on.
    Take(u32),
    /// The schedule changes.
    Edit(usize),
}

const SCHEDULES: [(&str, &str); 6] = [
    ("* * * * * *", "UTC"),
    ("*/7 * * * * *", "Europe/Berlin"),
    ("* * * * *", "America/New_York"),
    ("*/20 9-11 * * *", "Australia/Lord_Howe"),
    ("0 0 * * *", "Africa/Cairo"),
    ("30 1,2 * * *", "Europe/London"),
];

fn act() -> impl Strategy<Value = Act> {
    let time = || prop_oneof![1..100u32, 1..10_000u32, 1..60_000u32];
    prop_oneof![
        4 => (1..2_000u32).prop_map(Act::Live),
        3 => time().prop_map(Act::Down),
        2 => prop_oneof![-5_000..5_000i64, -20_000_000..20_000_000i64].prop_map(Act::Set),
        1 => Just(Act::Die),
        1 => Just(Act::Pause),
        1 => Just(Act::Resume),
        2 => prop_oneof![Just(0), 1..500u32].prop_map(Act::Take),
        1 => (0..SCHEDULES.len()).prop_map(Act::Edit),
    ]
}

prop_compose! {
    fn any_goal()(
        run in prop::sample::select(MissedTimesChoice::ALL),
        overlap in prop::sample::select(GoalOverlapPolicy::ALL),
        window in 0..300u64,
        missed in prop_oneof![1..600u64, 1..200_000u64],
        cap in 1..6u32,
        splay in prop_oneof![Just(0), 0..40u64],
        is_quiet in any::<bool>(),
    ) -> Goal {
        let mut goal = goal("* * * * *", "UTC");
        (goal.overlap, goal.window) = (overlap, seconds(window));
        (goal.missed.run, goal.missed.window) = (run, seconds(missed));
        goal.missed.cap = cap;
        goal.timing.splay = seconds(splay);
        if is_quiet {
            let (from, until) = ("10:00:20".parse().unwrap(), "10:20".parse().unwrap());
            goal.timing.exclude.push(ScheduleExclusion::Daily { from, until, on: Vec::new() });
        }
        goal
    }
}

/// The slots to account for: those of each schedule, as long as it was in force.
struct Wanted {
    schedule: GoalSchedule,
    from: Moment,
    slots: Vec<Slot>,
}

impl Wanted {
    fn until(&mut self, world: &World) {
        self.to(decided(world));
    }

    fn to(&mut self, until: Moment) {
        self.slots.extend(self.schedule.slots(self.from, until));
        self.from = until;
    }
}

fn decided(world: &World) -> Moment {
    let known = world.ledger.known(&world.goal.id).unwrap();
    known.expect("it was looked at").decided_until
}

/// The slots started or decided in a pause, by this clock.
fn play(world: &mut World, first: usize, acts: &[Act]) -> (Wanted, usize) {
    let mut now = Moment::from_millis(1_792_918_800_123);
    let (mut paused, mut in_pauses) = (false, 0);
    let (mut latest, seen) = (now, now);
    edit(world, first);
    world.look(now);
    let mut wanted = Wanted { schedule: world.goal.timing.clone(), from: now, slots: Vec::new() };
    for act in acts {
        let before = world.begun.len();
        match *act {
            Act::Live(time) => {
                let to = now.after(seconds(time.into()));
                world.live(now, to);
                now = to;
            }
            Act::Down(time) => now = now.after(seconds(time.into())),
            Act::Set(by) => now = Moment::from_millis(now.millis() + by),
            Act::Die => world.look_and_die(now),
            Act::Pause => {
                world.pause(now);
                paused = true;
            }
            Act::Resume => {
                world.resume(now);
                paused = false;
            }
            Act::Take(time) => world.takes = seconds(time.into()),
            Act::Edit(to) => {
                // Due slots are accounted for by the old schedule when that is seen.
                edit(world, to);
                world.look_and_die(now);
                wanted.until(world);
                wanted.schedule = world.goal.timing.clone();
            }
        }
        latest = latest.max(now);
        in_pauses += if paused { world.begun.len() - before } else { 0 };
    }
    // A final turn, when the clock was never later and nothing waits any more.
    world.takes = Duration::ZERO;
    world.resume(now);
    now = now.max(latest).after(seconds(1_000));
    world.look(now);
    if wanted.from == seen {
        // A clock that was set back to before the goal was first seen reaches more slots.
        wanted.from = world.lowest.min(seen);
    }
    // Without anything to record, the ledger need not note the time decided up to.
    let offset = world.goal.timing.offset(world.goal.id.as_str());
    wanted.to(instant_before(now, offset));
    (wanted, in_pauses)
}

fn edit(world: &mut World, to: usize) {
    let (cron, zone) = SCHEDULES[to];
    let new = timing(cron, zone);
    (world.goal.timing.rules, world.goal.timing.zone) = (new.rules, new.zone);
}

/// Each row covers only expected slots, all of them, in order, and none of another row.
fn accounted(world: &World, wanted: &[Slot]) -> Result<(), TestCaseError> {
    let mut slots = wanted.iter();
    for (row, _) in world.ledger.rows(&world.goal.id) {
        let mine: Vec<&Slot> = slots.by_ref().take(usize::try_from(row.count).unwrap()).collect();
        prop_assert_eq!(mine.first().map(|slot| slot.at), Some(row.slot), "{:?}", row);
        prop_assert_eq!(mine.last().map(|slot| slot.at), Some(row.last), "{:?}", row);
        prop_assert!(row.state.is_final(), "{:?}", row);
        if mine.iter().any(|slot| slot.excluded.is_some()) {
            prop_assert_eq!(row.state, SlotState::Skipped, "{:?}", row);
        }
    }
    let left: Vec<&Slot> = slots.collect();
    prop_assert!(left.is_empty(), "nothing is said of {:?}", left.first());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_slot_is_accounted_for_exactly_once(
        goal in any_goal(),
        first in 0..SCHEDULES.len(),
        acts in prop::collection::vec(act(), 1..20),
        is_set in any::<bool>(),
    ) {
        // With two schedules and a clock that goes back, either one may count.
        let ours = |act: &Act| match act {
            Act::Set(_) => is_set,
            Act::Edit(_) => !is_set,
            _ => true,
        };
        let acts: Vec<Act> = acts.into_iter().filter(ours).collect();
        let mut world = World::new(goal);
        let (wanted, in_pauses) = play(&mut world, first, &acts);
        accounted(&world, &wanted.slots)?;
        prop_assert_eq!(in_pauses, 0, "nothing begins in a pause");
        let begun: BTreeSet<Moment> = world.begun.iter().map(|begun| begun.slot).collect();
        prop_assert_eq!(begun.len(), world.begun.len(), "no slot begins twice");
        let offset = world.goal.timing.offset("goal");
        for begun in &world.begun {
            prop_assert!(begun.at >= begun.slot.after(offset), "before its time: {:?}", begun);
            let allowed = world.goal.overlap == GoalOverlapPolicy::Allow;
            prop_assert!(allowed || !begun.beside, "beside another: {:?}", begun);
        }
        let started = world.ledger.rows(&world.goal.id);
        let started = started.filter(|(row, _)| row.state == SlotState::Started);
        let started: BTreeSet<Moment> = started.map(|(row, _)| row.slot).collect();
        prop_assert_eq!(started, begun, "what began is what is said to have begun");
    }
}
