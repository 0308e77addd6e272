//! A wake-up costs what is due, and leads to the same decisions as a full scan: the simulation is
//! compared with a daemon that considers every goal at every wake-up.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proptest::prelude::*;

use super::world::{at, goal, minutes, missing, seconds};
use crate::goal::{InMemoryLedger, SimulationResult, SimulationScenario, simulate, turn};
use wf_base::{
    keyword::Keyword,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_model::{Goal, GoalOverlapPolicy, MissedTimesChoice, schedule::ScheduleExclusion};

struct Running {
    goal: PlanId,
    run: RunId,
    ends: Moment,
}

/// A daemon that considers all goals.
struct Every {
    scenario: SimulationScenario,
    now: Moment,
    out: SimulationResult,
    running: Vec<Running>,
    numbers: u128,
}

fn every(scenario: SimulationScenario) -> SimulationResult {
    let mut world = Every {
        now: scenario.from,
        scenario,
        out: SimulationResult::default(),
        running: Vec::new(),
        numbers: 0,
    };
    while world.now < world.scenario.to {
        world.end_cycles();
        let mut outages = world.scenario.outages.iter();
        let out = outages.find(|(from, to)| *from <= world.now && world.now < *to);
        world.now = match out.map(|(_, to)| *to) {
            Some(back) => world.next_end().map_or(back, |end| end.min(back)),
            None => world.look(),
        };
    }
    world.out
}

impl Every {
    fn next_end(&self) -> Option<Moment> {
        self.running.iter().map(|running| running.ends).min()
    }

    fn look(&mut self) -> Moment {
        self.out.wakes += 1;
        let mut next = self.scenario.to;
        for goal in self.scenario.goals.clone() {
            loop {
                let Ok(turn) = turn(&goal, &mut self.out.ledger, self.now);
                next = next.min(turn.wake.unwrap_or(next));
                if !self.act(&goal, &turn) {
                    break;
                }
            }
        }
        let down = self.scenario.outages.iter().map(|(from, _)| *from);
        let down = down.filter(|from| *from > self.now).min();
        let soonest = [self.next_end(), down].into_iter().flatten();
        let ahead = Moment::from_millis(self.now.millis() + 1);
        soonest.fold(next, Moment::min).max(ahead)
    }

    fn act(&mut self, goal: &Goal, due: &crate::goal::DueActions) -> bool {
        let mut again = false;
        for run in &due.cancel {
            self.out.cancelled.push((goal.id.clone(), self.now));
            self.running.retain(|running| running.run != *run);
            self.out.ledger.end(&goal.id, run);
            again = true;
        }
        let takes = self.scenario.takes.get(&goal.id).copied();
        for (slot, _) in &due.start {
            self.numbers += 1;
            let run = RunId::from_bytes(self.numbers.to_be_bytes());
            let busy = self.running.iter().any(|other| other.goal == goal.id);
            if !self.out.ledger.start(&goal.id, *slot, run.clone()) {
                continue;
            }
            if busy {
                self.out.overlaps.push((goal.id.clone(), *slot));
            }
            *self.out.cycles.entry(goal.id.clone()).or_default() += 1;
            let ends = self.now.after(takes.unwrap_or_default());
            if ends <= self.now {
                self.out.ledger.end(&goal.id, &run);
                again = true;
            } else {
                let goal = goal.id.clone();
                self.running.push(Running { goal, run, ends });
            }
        }
        again
    }

    fn end_cycles(&mut self) {
        for cycle in &self.running {
            if cycle.ends <= self.now {
                self.out.ledger.end(&cycle.goal, &cycle.run);
            }
        }
        self.running.retain(|running| running.ends > self.now);
    }
}

const SCHEDULES: [(&str, &str); 8] = [
    ("*/5 * * * *", "UTC"),
    ("* * * * *", "America/New_York"),
    ("*/40 * * * * *", "UTC"),
    ("*/20 9-11 * * *", "Australia/Lord_Howe"),
    ("0 0 * * *", "Africa/Cairo"),
    ("30 1,2 * * *", "Europe/London"),
    ("0 3 29 2 *", "UTC"),
    ("30 2 * * *", "Europe/Berlin"),
];

prop_compose! {
    fn any_goal()(
        rules in prop::collection::vec(0..SCHEDULES.len(), 1..3),
        run in prop::sample::select(MissedTimesChoice::ALL),
        overlap in prop::sample::select(GoalOverlapPolicy::ALL),
        window in 0..300u64,
        missed in prop_oneof![1..600u64, 1..20_000u64],
        cap in 1..6u32,
        splay in prop_oneof![2 => Just(0), 1 => 0..4_000u64],
        is_quiet in any::<bool>(),
        until in prop::option::of(0..200_000u64),
    ) -> Goal {
        let (cron, zone) = SCHEDULES[rules[0]];
        let mut goal = goal(cron, zone);
        for other in &rules[1..] {
            let (cron, zone) = SCHEDULES[*other];
            goal.timing.rules.extend(super::world::timing(cron, zone).rules);
        }
        (goal.overlap, goal.window) = (overlap, seconds(window));
        goal.missed = missing(run);
        (goal.missed.window, goal.missed.cap) = (seconds(missed), cap);
        goal.timing.splay = seconds(splay);
        goal.timing.active_until = until.map(|until| from().after(seconds(until)));
        if is_quiet {
            let (from, until) = ("10:00:20".parse().unwrap(), "10:20".parse().unwrap());
            goal.timing.exclude.push(ScheduleExclusion::Daily { from, until, on: Vec::new() });
        }
        goal
    }
}

/// A few hours before clocks go back in Europe.
fn from() -> Moment {
    at("2026-10-24T20:00:00.250Z")
}

prop_compose! {
    pub fn any_scenario()(
        goals in prop::collection::vec((any_goal(), prop_oneof![Just(0u64), 1..400u64, 1..9_000u64]), 1..7),
        hours in 1..30u64,
        downs in prop::collection::vec((1..9_000u64, 1..20_000u64), 0..4),
    ) -> SimulationScenario {
        let mut takes = BTreeMap::new();
        let mut all = Vec::new();
        for (number, (mut goal, time)) in goals.into_iter().enumerate() {
            goal.id = PlanId::parse(&format!("goal-{number}")).unwrap();
            takes.insert(goal.id.clone(), seconds(time));
            all.push(Arc::new(goal));
        }
        let mut outages = Vec::new();
        let mut down = from();
        for (there, away) in downs {
            let begin = down.after(seconds(there));
            down = begin.after(seconds(away));
            outages.push((begin, down));
        }
        let to = from().after(Duration::from_hours(hours));
        SimulationScenario { goals: all, from: from(), to, takes, outages }
    }
}

/// The whole ledger, a line for each row.
pub fn rows(ledger: &InMemoryLedger, goals: &[Arc<Goal>]) -> Vec<String> {
    let of = |goal: &Arc<Goal>| -> Vec<String> {
        let rows = ledger.rows(&goal.id);
        rows.map(|(row, at)| format!("{} {row:?} {at}", goal.id)).collect()
    };
    goals.iter().flat_map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn who_looks_at_what_is_due_decides_what_who_looks_at_all_does(scenario in any_scenario()) {
        let goals = scenario.goals.clone();
        let (due, all) = (simulate(scenario.clone()), every(scenario));
        prop_assert_eq!(rows(&due.ledger, &goals), rows(&all.ledger, &goals));
        prop_assert_eq!(due.overlaps, all.overlaps);
        prop_assert_eq!(due.cancelled, all.cancelled);
        prop_assert_eq!(due.cycles, all.cycles);
        prop_assert_eq!(due.wakes, all.wakes);
    }
}

/// Goals that are due once a day cost nothing while others wake the daemon.
#[test]
fn a_wake_costs_what_is_due() {
    let many = |count: usize| {
        let one = |number: usize| {
            let (hour, minute) = (number % 24, number * 7 % 60);
            let mut goal = goal(&format!("{minute} {hour} * * *"), "UTC");
            goal.id = PlanId::parse(&format!("goal-{number}")).unwrap();
            Arc::new(goal)
        };
        let (from, to) = (at("2026-01-01T00:00:00Z"), at("2026-02-01T00:00:00Z"));
        let goals: Vec<Arc<Goal>> = (0..count).map(one).collect();
        let takes = goals.iter().map(|goal| (goal.id.clone(), minutes(1)));
        simulate(SimulationScenario { takes: takes.collect(), goals, from, to, outages: Vec::new() })
    };
    let simulated = many(240);
    let cycles: u64 = simulated.cycles.values().sum();
    assert!(cycles > 240 * 30, "{cycles}");
    assert!(simulated.considerations <= 240 + 2 * cycles, "{}", simulated.considerations);
}
