//! The time machine: what a daemon would do from one instant to another, without waiting for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{MemoryLedger, Turn, turn};
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
}

struct Running {
    goal: PlanId,
    run: RunId,
    ends: Moment,
}

struct World {
    scenario: Scenario,
    now: Moment,
    out: Simulated,
    running: Vec<Running>,
    numbers: u128,
}

/// Lets a daemon live through a scenario, with the code of the real one.
pub fn simulate(scenario: Scenario) -> Simulated {
    let mut world = World {
        now: scenario.from,
        scenario,
        out: Simulated::default(),
        running: Vec::new(),
        numbers: 0,
    };
    while world.now < world.scenario.to {
        world.end_cycles();
        world.now = match world.back() {
            Some(back) => world.next_end().map_or(back, |end| end.min(back)),
            None => world.look(),
        };
    }
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
        self.running.iter().map(|running| running.ends).min()
    }

    /// Looks at every goal; gives when something happens next.
    fn look(&mut self) -> Moment {
        self.out.wakes += 1;
        let mut next = self.scenario.to;
        for goal in self.scenario.goals.clone() {
            loop {
                let Ok(turn) = turn(&goal, &mut self.out.ledger, self.now);
                let (wake, again) = self.act(&goal, &turn);
                next = next.min(wake.unwrap_or(next));
                if !again {
                    break;
                }
            }
        }
        let down = self.scenario.outages.iter().map(|(from, _)| *from);
        let down = down.filter(|from| *from > self.now).min();
        let soonest = [self.next_end(), down].into_iter().flatten();
        // The clock has no finer steps, so that something is always ahead.
        let ahead = Moment::from_millis(self.now.millis() + 1);
        soonest.fold(next, Moment::min).max(ahead)
    }

    /// Does what is to be done; gives when the goal is due next, and whether a cycle ended at once,
    /// so that it must be looked at again.
    fn act(&mut self, goal: &Goal, turn: &Turn) -> (Option<Moment>, bool) {
        let mut again = false;
        for run in &turn.cancel {
            self.out.cancelled.push((goal.id.clone(), self.now));
            self.end(&goal.id, run);
            again = true;
        }
        let takes = self.scenario.takes.get(&goal.id).copied();
        for (slot, _) in &turn.start {
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
        (turn.wake, again)
    }

    fn end(&mut self, goal: &PlanId, run: &RunId) {
        self.running.retain(|running| running.run != *run);
        self.out.ledger.end(goal, run);
    }

    fn end_cycles(&mut self) {
        let (ended, running) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|running| running.ends <= self.now);
        self.running = running;
        let ended: Vec<Running> = ended;
        for cycle in ended {
            self.out.ledger.end(&cycle.goal, &cycle.run);
        }
    }
}
