//! What goes wrong.

use wf_core::machine::{InputKind, Machine};

use super::{
    faults::Fault,
    ledger::{Ledger, step_of},
    look::{Broken, Seen},
    process::Life,
    units::is_process,
    world::World,
};

/// How many of the last turns a loss of power takes at most.
const LOST_TURNS: usize = 6;

impl World {
    /// Lets something go wrong, now and then.
    pub fn trouble(&mut self) -> Result<(), Broken> {
        if !self.dice.one_in(self.seldom) {
            return Ok(());
        }
        let fault = *self.dice.pick(&Fault::ALL);
        let at = self.dice.below(self.runs.len());
        if !self.faults.has(fault) || self.runs[at].engine.is_none() {
            return Ok(());
        }
        let happened = match fault {
            Fault::Crash if self.may_die() => {
                // What was sent may still be written by the time the engine is dead.
                let written = self.dice.below(3);
                (0..written).for_each(|_| self.write(at));
                self.kill_engine(at, "between two acts");
                true
            }
            Fault::Power if self.may_die() => {
                self.lose_power();
                true
            }
            Fault::Store => {
                let engine = self.engine(at);
                let sends = engine.written < engine.turns.len();
                let fails = sends && self.may_die();
                if fails {
                    self.kill_engine(at, "because the log cannot be written");
                }
                fails
            }
            Fault::Cancel => return self.cancel(at),
            Fault::Jump => {
                let far = *self.dice.pick(&[1_000, 60_000, 3_600_000]);
                let by = i64::from(self.dice.up_to(2 * far)) - i64::from(far);
                self.now += by;
                self.say(|| format!("the clock jumps by {by}"));
                true
            }
            Fault::Stale => return self.stale(at),
            Fault::Meddle => return self.meddle(at),
            _ => false,
        };
        if happened {
            self.coverage.count("fault", fault.name());
        }
        Ok(())
    }

    /// Whether one more engine may die; if so, it is counted.
    pub fn may_die(&mut self) -> bool {
        let may = self.deaths > 0;
        self.deaths = self.deaths.saturating_sub(1);
        may
    }

    /// Ends an engine without warning. Some of its processes live on.
    pub fn kill_engine(&mut self, at: usize, when: &str) {
        self.say(|| format!("run {at}: the engine dies {when}"));
        let away = [0, 500, 20_000];
        let away = *self.dice.pick(&away);
        self.runs[at].back = self.now + i64::from(self.dice.up_to(away));
        let run = &mut self.runs[at];
        run.engine = None;
        for (attempt, process) in &mut run.processes {
            if process.state != Life::Alive {
                continue;
            }
            let outlives = self.dice.below(4) < self.outlive;
            let work = &step_of(&run.plan, &attempt.task_id).work;
            process.state = match (is_process(work), outlives) {
                (true, true) if self.adopts && process.ends <= self.now => {
                    Life::Ended(process.fate.exit.clone())
                }
                (true, true) => Life::Alive,
                _ => Life::Lost,
            };
        }
        // What is no process goes on where it was.
        let plan = &run.plan;
        run.processes.retain(|attempt, _| is_process(&step_of(plan, &attempt.task_id).work));
    }

    /// Ends everything, and takes back the end of every log.
    fn lose_power(&mut self) {
        self.say(|| "the power fails".into());
        self.outlive_nothing();
        let life_of_the_log = self.dice.below(LOST_TURNS);
        for run in &mut self.runs {
            if run.over {
                continue;
            }
            let left = run.cuts.len().saturating_sub(life_of_the_log);
            run.cuts.truncate(left);
            run.log.truncate(run.cuts.last().copied().unwrap_or(0));
            run.durable = Ledger::of(&run.plan, &run.log);
            let known = &run.durable;
            run.processes.retain(|attempt, _| {
                known.places.get(&attempt.task_id).is_some_and(|book| book.attempts >= attempt.attempt)
            });
            // Answers to what is not recorded any more cannot come.
            run.stale.clear();
        }
    }

    fn outlive_nothing(&mut self) {
        let before = std::mem::take(&mut self.outlive);
        for at in 0..self.runs.len() {
            if self.runs[at].engine.is_some() {
                self.kill_engine(at, "with the power");
            }
            let lost = self.runs[at].processes.values_mut();
            lost.filter(|process| process.state == Life::Alive)
                .for_each(|process| process.state = Life::Lost);
        }
        self.outlive = before;
    }

    fn cancel(&mut self, at: usize) -> Result<(), Broken> {
        let run = &mut self.runs[at];
        let over = run.engine.as_ref().is_some_and(|engine| engine.machine.outcome().is_some());
        if run.cancels > 2 || over {
            return Ok(());
        }
        run.cancels += 1;
        run.steady = false;
        self.coverage.count("fault", Fault::Cancel.name());
        self.feed(
            at,
            i64::MIN,
            InputKind::Cancel { reason: "cancelled by a signal (Ctrl-C / wf cancel)".into() },
        )
    }

    /// Gives an engine an answer that it has had, or that comes too early.
    fn stale(&mut self, at: usize) -> Result<(), Broken> {
        let run = &mut self.runs[at];
        let Some(engine) = &mut run.engine else {
            return Ok(());
        };
        let early = self.dice.one_in(2) && !engine.timers.is_empty();
        let what = if self.dice.one_in(8) {
            self.early_word(at)
        } else if early {
            let (_, timer) = self.dice.pick(&engine.timers);
            InputKind::Woke { timer: timer.clone() }
        } else {
            let Some((life, what)) = run.stale.pop_front() else {
                return Ok(());
            };
            // Nobody but the engine that asked for a lock is told of it, and what evidence was
            // worth then is not what it is worth now.
            let of_a_life = matches!(
                what,
                InputKind::Locked { .. }
                    | InputKind::LockHeld { .. }
                    | InputKind::LockRefused { .. }
                    | InputKind::Stale(_)
                    | InputKind::Confirmed { .. }
            );
            if of_a_life && life != engine.life {
                return Ok(());
            }
            what
        };
        let now = self.now;
        let engine = self.engine(at);
        engine.clock = engine.clock.max(now);
        if engine.asked(&what) {
            return Ok(());
        }
        let whole = |machine: &Machine| (machine.state().clone(), machine.in_flight().clone());
        let before = whole(&engine.machine);
        let input =
            wf_core::machine::MachineInput { at: wf_base::time::Moment::from_millis(now), kind: what };
        let turn = engine.machine.turn(input.clone());
        let changed = turn != wf_core::machine::MachineTurn::default() || whole(&engine.machine) != before;
        self.coverage.count("fault", if early { "early timer" } else { Fault::Stale.name() });
        self.say(|| format!("run {at}: once more, or too early: {:?}", input.kind));
        self.look(at, Seen::Idle { what: &input.kind, changed })
    }
}
