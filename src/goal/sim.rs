//! The time machine: what a daemon would do from one instant to another, without waiting for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::{Agenda, MemoryLedger, Turn, turn};
use crate::model::Goal;
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The goals.
    pub goals: Vec<Arc<Goal>>,
    /// When the daemon begins: nothing is due before.
    pub from: Moment,
    /// When it ends.
    pub to: Moment,
    /// How long a cycle takes, by goal; none if it is not named.
    pub takes: BTreeMap<PlanId, Duration>,
    /// When the daemon is not there, in order: from one instant until before another.
    pub outages: Vec<(Moment, Moment)>,
}

/// What happened in a simulation.
#[derive(Clone, Debug, Default)]
pub struct Simulated {
    /// What was accounted for.
    pub ledger: MemoryLedger,
    /// The cycles that went on beside another of the same goal.
    pub overlaps: Vec<(PlanId, Moment)>,
    /// The cycles that were cancelled, and when.
    pub cancelled: Vec<(PlanId, Moment)>,
    /// How many cycles began, by goal.
    pub cycles: BTreeMap<PlanId, u64>,
    /// How often the daemon woke.
    pub wakes: u64,
    /// How often it looked at a goal.
    pub looks: u64,
}

/// A cycle that goes on.
struct Running {
    run: RunId,
    ends: Moment,
}

/// A goal by its place among those that are simulated.
type Place = usize;

struct World {
    scenario: Scenario,
    now: Moment,
    out: Simulated,
    agenda: Agenda<Place>,
    /// The length of a cycle and the number of those that began, by place: asked for with each cycle.
    cycles: Vec<(Duration, u64)>,
    running: BTreeMap<Place, Vec<Running>>,
    /// When cycles end, in order.
    ends: BTreeSet<(Moment, Place)>,
    numbers: u64,
}

/// Lets a daemon live through a scenario, with the code of the real one.
pub fn simulate(scenario: Scenario) -> Simulated {
    let takes = |goal: &Arc<Goal>| scenario.takes.get(&goal.id).copied().unwrap_or_default();
    let cycles = scenario.goals.iter().map(|goal| (takes(goal), 0));
    let mut world = World {
        now: scenario.from,
        cycles: cycles.collect(),
        scenario,
        out: Simulated::default(),
        agenda: Agenda::default(),
        running: BTreeMap::new(),
        ends: BTreeSet::new(),
        numbers: 0,
    };
    (0..world.scenario.goals.len()).for_each(|place| world.agenda.add(place));
    while world.now < world.scenario.to {
        world.end_cycles();
        world.now = match world.back() {
            Some(back) => world.next_end().map_or(back, |end| end.min(back)),
            None => world.look(),
        };
    }
    let cycles = world.scenario.goals.iter().zip(&world.cycles);
    let begun = cycles.filter(|(_, (_, count))| *count > 0);
    world.out.cycles = begun
        .map(|(goal, (_, count))| (goal.id.clone(), *count))
        .collect();
    world.out
}

impl World {
    /// When the daemon is there again, if it is not.
    fn back(&self) -> Option<Moment> {
        let mut outages = self.scenario.outages.iter();
        let out = outages.find(|(from, to)| *from <= self.now && self.now < *to);
        out.map(|(_, to)| *to)
    }

    fn next_end(&self) -> Option<Moment> {
        self.ends.first().map(|(ends, _)| *ends)
    }

    /// Looks at every goal that is due; gives when something happens next.
    fn look(&mut self) -> Moment {
        self.out.wakes += 1;
        for place in self.agenda.due(self.now) {
            let Some(goal) = self.scenario.goals.get(place).cloned() else {
                continue;
            };
            loop {
                self.out.looks += 1;
                let Ok(turn) = turn(&goal, &mut self.out.ledger, self.now);
                let ended = self.act((place, &goal), &turn);
                // What ended at once is in the way of what waits, and of nothing else.
                if !(ended && turn.is_open) && turn.cancel.is_empty() {
                    self.agenda.put(&place, &turn);
                    break;
                }
            }
        }
        let down = self.scenario.outages.iter().map(|(from, _)| *from);
        let down = down.filter(|from| *from > self.now).min();
        let soonest = [self.agenda.wake(), self.next_end(), down];
        let soonest = soonest.into_iter().flatten();
        // The clock has no finer steps, so that something is always ahead.
        let ahead = Moment::from_millis(self.now.millis() + 1);
        soonest.fold(self.scenario.to, Moment::min).max(ahead)
    }

    /// Does what is to be done; answers whether a cycle ended at once.
    fn act(&mut self, (place, goal): (Place, &Goal), turn: &Turn) -> bool {
        let mut ended = false;
        for run in &turn.cancel {
            self.out.cancelled.push((goal.id.clone(), self.now));
            self.end(place, run);
            self.out.ledger.end(&goal.id, run);
        }
        for (slot, _) in &turn.start {
            self.numbers += 1;
            let run = RunId::from_stored(self.numbers.to_string());
            let running = self.running.get(&place);
            let busy = running.is_some_and(|running| !running.is_empty());
            if !self.out.ledger.start(&goal.id, *slot, run.clone()) {
                continue;
            }
            if busy {
                self.out.overlaps.push((goal.id.clone(), *slot));
            }
            let Some((takes, count)) = self.cycles.get_mut(place) else {
                continue;
            };
            *count += 1;
            let ends = self.now.after(*takes);
            if ends <= self.now {
                self.out.ledger.end(&goal.id, &run);
                ended = true;
            } else {
                let running = self.running.entry(place).or_default();
                running.push(Running { run, ends });
                self.ends.insert((ends, place));
            }
        }
        ended
    }

    /// Ends a cycle before its time.
    fn end(&mut self, place: Place, run: &RunId) {
        let Some(running) = self.running.get_mut(&place) else {
            return;
        };
        let ended = running.extract_if(.., |running| running.run == *run);
        let ended: Vec<Moment> = ended.map(|running| running.ends).collect();
        for ends in ended {
            if running.iter().all(|other| other.ends != ends) {
                self.ends.remove(&(ends, place));
            }
        }
    }

    fn end_cycles(&mut self) {
        while let Some((ends, place)) = self.ends.first().copied()
            && ends <= self.now
        {
            self.ends.pop_first();
            let goal = self.scenario.goals.get(place);
            let running = self.running.get_mut(&place);
            let (Some(goal), Some(running)) = (goal, running) else {
                continue;
            };
            running.retain(|running| {
                let goes_on = running.ends > self.now;
                if !goes_on {
                    self.out.ledger.end(&goal.id, &running.run);
                }
                goes_on
            });
        }
    }
}
