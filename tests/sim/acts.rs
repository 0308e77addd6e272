//! What happens next, when nothing goes wrong.

use wf_core::machine::{Attempt, InputKind};

use super::{
    coverage,
    engine::{Engine, Job, Unit},
    faults::Fault,
    look::{Broken, Seen},
    world::World,
};

/// Something that can happen next, and to which run.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// An engine is started.
    Start(usize),
    /// The oldest turn that is not in the log is written.
    Write(usize),
    /// The engine learns that its oldest turn is in the log.
    Ack(usize),
    /// A unit begins or comes back.
    Unit(usize, usize),
    /// A timer goes off.
    Timer(usize, usize),
    /// The engine has nothing more to do.
    Leave(usize),
}

impl World {
    /// Does something that can be done; if there is nothing yet, lets time pass.
    pub fn act(&mut self) -> Result<(), Broken> {
        let mut ready = Vec::new();
        let mut soonest: Option<(i64, Act)> = None;
        let hasty = self.faults.has(Fault::Delay) && self.dice.one_in(8);
        for at in 0..self.runs.len() {
            for (due, act) in self.acts(at) {
                let sooner = soonest.is_none_or(|(before, _)| due < before);
                if due <= self.now || hasty && matches!(act, Act::Unit(..)) {
                    ready.push(act);
                } else if sooner {
                    soonest = Some((due, act));
                }
            }
        }
        let act = match (ready.is_empty(), soonest) {
            (false, _) => *self.dice.pick(&ready),
            (true, Some((due, act))) => {
                self.now = due;
                act
            }
            (true, None) => {
                let reason = "nothing is under way, and a run is not over".into();
                return Err(Broken { law: "no_stall", reason });
            }
        };
        self.perform(act)
    }

    /// What can happen to a run, and from when on.
    fn acts(&self, at: usize) -> Vec<(i64, Act)> {
        let run = &self.runs[at];
        let mut acts = Vec::new();
        let waits = run.after.is_some_and(|first| !self.runs[first].over);
        let Some(engine) = &run.engine else {
            if !run.over && !waits {
                acts.push((run.back, Act::Start(at)));
            }
            return acts;
        };
        if engine.is_done() {
            return vec![(self.now, Act::Leave(at))];
        }
        if engine.written < engine.turns.len() {
            acts.push((self.now, Act::Write(at)));
        }
        if engine.written > 0 {
            acts.push((self.now, Act::Ack(at)));
        }
        for (number, unit) in engine.units.iter().enumerate() {
            // In another round a lock is taken once it was given back.
            let waits = match &unit.job {
                Job::Lock { task_id, locks } => {
                    let back = |job: &Job| matches!(job, Job::Unlock { task_id: p, .. } if p == task_id);
                    // One that needs only files is told first that it waits.
                    let told = unit.begun || locks.lock.is_some();
                    told && !self.is_free(locks, at) || engine.units.iter().any(|unit| back(&unit.job))
                }
                _ => false,
            };
            if !waits {
                acts.push((unit.due, Act::Unit(at, number)));
            }
        }
        if engine.machine.outcome().is_none() {
            let timers = engine.timers.iter().enumerate();
            acts.extend(timers.map(|(number, (due, _))| (due.millis(), Act::Timer(at, number))));
        }
        acts
    }

    fn perform(&mut self, act: Act) -> Result<(), Broken> {
        match act {
            Act::Start(at) => self.start(at),
            Act::Write(at) => {
                self.write(at);
                Ok(())
            }
            Act::Ack(at) => {
                let engine = self.engine(at);
                engine.written -= 1;
                let turn = engine.turns.pop_front().expect("it was written");
                self.carry_out_all(at, turn.effects)
            }
            Act::Unit(at, number) => self.work_on(at, number),
            Act::Timer(at, number) => {
                let (due, timer) = self.engine(at).timers.swap_remove(number);
                self.coverage.count("timer", coverage::timer(&timer));
                self.feed(at, due.millis(), InputKind::Woke { timer })
            }
            Act::Leave(at) => {
                self.look(at, Seen::Over)?;
                self.say(|| format!("run {at}: over"));
                let run = &mut self.runs[at];
                (run.engine, run.over) = (None, true);
                Ok(())
            }
        }
    }

    /// Puts the oldest turn that is not in the log there.
    pub fn write(&mut self, at: usize) {
        let run = &mut self.runs[at];
        let Some(engine) = &mut run.engine else {
            return;
        };
        if let Some(turn) = engine.turns.get(engine.written) {
            turn.events.iter().for_each(|event| run.durable.take(event));
            run.log.extend(turn.events.iter().cloned());
            run.cuts.push(run.log.len());
            engine.written += 1;
        }
    }
}

impl Engine {
    /// Begins the work of an attempt, or finds out what became of it.
    pub fn work(&mut self, attempt: Attempt, again: bool, due: i64) {
        self.spawn(Job::Work { attempt, again }, due);
    }

    /// Begins something that comes back.
    pub fn spawn(&mut self, job: Job, due: i64) {
        self.units.push(Unit { job, due, begun: false, stop: false, told: false });
    }
}
