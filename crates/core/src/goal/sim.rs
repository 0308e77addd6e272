//! The simulation of a daemon from one instant to another, without waiting.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{DueActions, GoalAgenda, InMemoryLedger, turn};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};
use wf_model::Goal;

/// A scenario to simulate.
#[derive(Clone, Debug)]
pub struct SimulationScenario {
    pub goals: Vec<Arc<Goal>>,
    /// The start of the daemon: nothing is due before.
    pub from: Moment,
    /// The end.
    pub to: Moment,
    /// The duration of a reconciliation, by goal; zero if absent.
    pub takes: BTreeMap<PlanId, Duration>,
    /// The outages of the daemon, in order: from one instant until before another.
    pub outages: Vec<(Moment, Moment)>,
}

/// The result of a simulation.
#[derive(Clone, Debug, Default)]
pub struct SimulationResult {
    /// The final ledger.
    pub ledger: InMemoryLedger,
    /// The reconciliations that overlapped another of the same goal.
    pub overlaps: Vec<(PlanId, Moment)>,
    /// The cancelled reconciliations, with the time.
    pub cancelled: Vec<(PlanId, Moment)>,
    /// The number of reconciliations started, by goal.
    pub cycles: BTreeMap<PlanId, u64>,
    /// The number of times the daemon woke.
    pub wakes: u64,
    /// The number of times it considered a goal.
    pub considerations: u64,
}

/// A running reconciliation.
struct SimulatedReconciliation {
    run: RunId,
    ends: Moment,
}

/// The index of a goal among those simulated.
type GoalIndex = usize;

struct GoalSimulation {
    scenario: SimulationScenario,
    now: Moment,
    result: SimulationResult,
    agenda: GoalAgenda<GoalIndex>,
    /// The duration of a reconciliation and the number started, by index.
    cycles: Vec<(Duration, u64)>,
    running: BTreeMap<GoalIndex, Vec<SimulatedReconciliation>>,
    /// The ends of reconciliations, in order.
    ends: BTreeSet<(Moment, GoalIndex)>,
    next_run: u64,
}

/// Simulates a daemon in a scenario, with the code of the real one.
pub fn simulate(scenario: SimulationScenario) -> SimulationResult {
    let takes = |goal: &Arc<Goal>| scenario.takes.get(&goal.id).copied().unwrap_or_default();
    let cycles = scenario.goals.iter().map(|goal| (takes(goal), 0));
    let mut world = GoalSimulation {
        now: scenario.from,
        cycles: cycles.collect(),
        scenario,
        result: SimulationResult::default(),
        agenda: GoalAgenda::default(),
        running: BTreeMap::new(),
        ends: BTreeSet::new(),
        next_run: 0,
    };
    (0..world.scenario.goals.len()).for_each(|place| world.agenda.add(place));
    while world.now < world.scenario.to {
        world.end_cycles();
        world.now = match world.outage_end() {
            Some(back) => world.next_end().map_or(back, |end| end.min(back)),
            None => world.consider_due_goals(),
        };
    }
    let cycles = world.scenario.goals.iter().zip(&world.cycles);
    let begun = cycles.filter(|(_, (_, count))| *count > 0);
    world.result.cycles = begun.map(|(goal, (_, count))| (goal.id.clone(), *count)).collect();
    world.result
}

impl GoalSimulation {
    /// Returns the end of the current outage, if there is one.
    fn outage_end(&self) -> Option<Moment> {
        let mut outages = self.scenario.outages.iter();
        let out = outages.find(|(from, to)| *from <= self.now && self.now < *to);
        out.map(|(_, to)| *to)
    }

    fn next_end(&self) -> Option<Moment> {
        self.ends.first().map(|(ends, _)| *ends)
    }

    /// Considers every goal that is due; returns the time of the next event.
    fn consider_due_goals(&mut self) -> Moment {
        self.result.wakes += 1;
        for place in self.agenda.due(self.now) {
            let Some(goal) = self.scenario.goals.get(place).cloned() else {
                continue;
            };
            loop {
                self.result.considerations += 1;
                let Ok(turn) = turn(&goal, &mut self.result.ledger, self.now);
                let ended = self.carry_out(place, &goal, &turn);
                // A reconciliation that ended at once can only unblock queued ones.
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
        // The clock has no finer resolution, so that something is always ahead.
        let ahead = Moment::from_millis(self.now.millis() + 1);
        soonest.fold(self.scenario.to, Moment::min).max(ahead)
    }

    /// Carries out a turn; returns true if a reconciliation ended at once.
    fn carry_out(&mut self, place: GoalIndex, goal: &Goal, due: &DueActions) -> bool {
        let mut ended = false;
        for run in &due.cancel {
            self.result.cancelled.push((goal.id.clone(), self.now));
            self.end(place, run);
            self.result.ledger.end(&goal.id, run);
        }
        for (slot, _) in &due.start {
            self.next_run += 1;
            let run = RunId::from_stored(self.next_run.to_string());
            let running = self.running.get(&place);
            let busy = running.is_some_and(|running| !running.is_empty());
            if !self.result.ledger.start(&goal.id, *slot, run.clone()) {
                continue;
            }
            if busy {
                self.result.overlaps.push((goal.id.clone(), *slot));
            }
            let Some((takes, count)) = self.cycles.get_mut(place) else {
                continue;
            };
            *count += 1;
            let ends = self.now.after(*takes);
            if ends <= self.now {
                self.result.ledger.end(&goal.id, &run);
                ended = true;
            } else {
                let running = self.running.entry(place).or_default();
                running.push(SimulatedReconciliation { run, ends });
                self.ends.insert((ends, place));
            }
        }
        ended
    }

    /// Cancels a reconciliation.
    fn end(&mut self, place: GoalIndex, run: &RunId) {
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
                    self.result.ledger.end(&goal.id, &running.run);
                }
                goes_on
            });
        }
    }
}
