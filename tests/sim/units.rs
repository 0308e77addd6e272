//! What the world does with effects: work, checks, locks, looks.

use wf_core::machine::{Attempt, AttemptEnd, CheckRuling, Effect, GateQuestion, InputKind, TaskId, WorkExit};
use wf_model::{CheckPhase, JsonObject, StepWork, WaitCondition};

use super::{
    agents, coverage,
    engine::Job,
    fates::{Fate, verdict},
    faults::Fault,
    generated,
    ledger::step_of,
    look::{Broken, Seen},
    merges,
    process::{Life, Process},
    world::{World, text},
};

impl World {
    /// Carries out the effects of a turn, unless the engine dies in between.
    pub fn carry_out_all(&mut self, at: usize, effects: Vec<Effect>) -> Result<(), Broken> {
        for effect in effects {
            let dies = self.faults.has(Fault::Torn) && self.dice.one_in(4 * self.seldom);
            if dies && self.may_die() {
                self.kill_engine(at, "between two effects");
                self.coverage.count("fault", Fault::Torn.name());
                return Ok(());
            }
            self.carry_out(at, effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, at: usize, effect: Effect) -> Result<(), Broken> {
        self.coverage.count("effect", coverage::effect(&effect));
        self.look(at, Seen::Act(&effect))?;
        self.say(|| format!("run {at}:   does {}", text(&effect)));
        let soon = self.now + i64::from(self.dice.up_to(200));
        let race = self.faults.has(Fault::Race) && self.dice.one_in(4);
        if let Effect::Start { correction: Some(_), .. } = &effect {
            self.coverage.count("work", "corrected");
        }
        let worked = match &effect {
            Effect::Start { attempt, .. } | Effect::Watch { attempt, .. } => Some(attempt),
            _ => None,
        };
        let is_agent = worked.is_some_and(|attempt| self.is_agent(at, attempt));
        let is_generated = worked.is_some_and(|attempt| {
            let engine = self.engine(at);
            let step = step_of(engine.machine.plan(), &attempt.task_id);
            matches!(step.work, StepWork::Generated(_)) && !step.is_open()
        });
        let engine = self.engine(at);
        let job = agents::job(&effect, is_agent).or_else(|| merges::job(&effect));
        if let Some(job) = job.or_else(|| generated::job(&effect, is_generated)) {
            engine.spawn(job, soon);
            return Ok(());
        }
        match effect {
            Effect::Start { attempt, .. } => engine.work(attempt, false, soon),
            Effect::Watch { attempt, .. } => engine.work(attempt, true, soon),
            Effect::Check { attempt, phase, .. } => {
                engine.spawn(Job::Check { attempt, phase }, soon);
            }
            Effect::Lookup { task_id, .. } => engine.spawn(Job::Look { task_id }, soon),
            Effect::Lock { task_id, locks } => engine.spawn(Job::Lock { task_id, locks }, soon),
            Effect::Unlock { task_id } => {
                let waits = |job: &Job| matches!(job, Job::Lock { task_id: p, .. } if *p == task_id);
                engine.units.retain(|unit| !waits(&unit.job));
                engine.spawn(Job::Unlock { task_id }, soon);
            }
            Effect::Wake { timer, at } => engine.timers.push((at, timer)),
            Effect::Kill { attempt, .. } => self.tell(at, attempt.as_ref(), (soon, race)),
            Effect::Ask(ask) => self.ask(at, ask),
            Effect::Dismiss { number } => engine.dismiss(number),
            Effect::Confirm { places } => engine.spawn(Job::Confirm { places }, soon),
            Effect::Gate(GateQuestion { task_id, point, attempt, tool_call, exchange, .. }) => {
                let gate = Job::Gate { task_id, point, attempt, tool_call, exchange };
                engine.spawn(gate, soon);
            }
            Effect::Plan { request } => engine.spawn(super::planner::job(&request), soon),
            Effect::Guide { request } => engine.spawn(Job::Guide { attempt: request.attempt }, soon),
            // Those of agents have begun.
            Effect::CallModel(_)
            | Effect::StartChild { .. }
            | Effect::CallTool(_)
            | Effect::ServeClient(_)
            | Effect::EndAgent(_)
            | Effect::Compact { .. }
            | Effect::PrepareMerge { .. }
            | Effect::Merge(_)
            | Effect::Remember { .. }
            | Effect::Finish { .. } => {}
        }
        Ok(())
    }

    /// Tells what is done for an attempt to end; in a race, what has begun ends by itself before.
    fn tell(&mut self, at: usize, attempt: Option<&Attempt>, (soon, race): (i64, bool)) {
        let place = attempt.map(|attempt| &attempt.task_id);
        for unit in &mut self.engine(at).units {
            let hit = match &unit.job {
                Job::Work { attempt: works, .. }
                | Job::Brief { attempt: works }
                | Job::Generate { attempt: works }
                | Job::Model { attempt: works, .. }
                | Job::Guide { attempt: works }
                | Job::Serve { attempt: works, .. } => Some(works) == attempt,
                Job::Check { attempt: checked, .. } => checked.as_ref() == attempt,
                Job::Gate { task_id: gated, .. } => gated.as_ref() == place,
                Job::Plan { .. } => attempt.is_none(),
                Job::Tool { id } => Some(&id.attempt) == attempt,
                Job::Child { id } => Some(&id.attempt) == attempt,
                Job::Compact { request } => Some(&request.start.attempt) == attempt,
                _ => false,
            };
            unit.told |= hit;
            if hit && !(race && unit.begun) {
                (unit.stop, unit.due) = (true, unit.due.min(soon));
            }
        }
    }

    /// Lets a unit begin, or come back.
    pub fn work_on(&mut self, at: usize, number: usize) -> Result<(), Broken> {
        let unit = &self.engine(at).units[number];
        let (job, begun, stop) = (unit.job.clone(), unit.begun, unit.stop);
        let what = match job {
            Job::Work { attempt, again } if !begun => {
                return self.begin(at, number, &attempt, again);
            }
            Job::Work { attempt, .. } => self.end(at, &attempt, stop),
            Job::Brief { .. } | Job::Model { .. } | Job::Tool { .. } | Job::Serve { .. }
                if !begun && !stop =>
            {
                return self.begin_for_agent(at, number, &job);
            }
            Job::Child { id } if !begun && !stop => return self.begin_child(at, number, &id),
            Job::Child { id } => self.child_ended(at, id, stop),
            Job::Generate { attempt } => self.generated(at, attempt),
            Job::Brief { attempt } => self.briefed(at, attempt, stop),
            Job::Model { attempt, call } => self.replied(at, attempt, call, stop),
            Job::Tool { id } => self.tool_ended(at, id, stop),
            Job::Serve { attempt, call } => self.served(at, attempt, call, stop),
            Job::Collect { attempt, exit } => self.collected(at, attempt, exit),
            Job::Check { attempt, .. } if !begun && !stop => return self.begin_check(at, number, attempt),
            Job::Check { attempt, phase } => self.judged(at, (attempt, phase), stop),
            Job::Look { task_id } => {
                let run = &self.runs[at];
                let found = self.fates.cached(at, &task_id, step_of(&run.plan, &task_id));
                InputKind::Looked { task_id, found }
            }
            Job::Lock { task_id, locks } if !begun && locks.lock.is_none() && !self.is_free(&locks, at) => {
                self.engine(at).units[number].begun = true;
                return self.feed(at, i64::MIN, InputKind::LockHeld { task_id });
            }
            Job::Lock { task_id, locks } => {
                let life = self.engine(at).life;
                self.take_locks(&locks, at, &task_id, life);
                InputKind::Locked { task_id }
            }
            Job::Gate { task_id, point, exchange: Some(question), .. } => {
                self.exchange_gated(at, task_id, point, &question)
            }
            Job::Gate { task_id, point, attempt, tool_call, .. } => {
                self.gated(at, task_id, (point, attempt), tool_call)
            }
            Job::Merge { attempt, plan } => self.merged(at, attempt, plan),
            Job::Compact { request } => self.compacted(at, *request, stop),
            Job::Guide { attempt } => self.guided(at, attempt, stop),
            Job::Plan { round, again, steps } => self.planned(at, (round, again), &steps, stop),
            Job::Ask { ask } => self.answered(at, &ask),
            Job::Confirm { places } => self.confirmed(at, places),
            Job::Unlock { task_id } => {
                self.engine(at).units.remove(number);
                self.look(at, Seen::Unlocks { task_id: &task_id })?;
                let life = self.engine(at).life;
                self.locks.retain(|held| (held.run, &held.task_id, held.life) != (at, &task_id, life));
                return Ok(());
            }
        };
        self.engine(at).units.remove(number);
        self.feed(at, i64::MIN, what)
    }

    fn begin_check(&mut self, at: usize, number: usize, attempt: Option<Attempt>) -> Result<(), Broken> {
        let plan = &self.runs[at].plan;
        let (whose, checks) = match &attempt {
            Some(attempt) => (attempt.to_string(), &step_of(plan, &attempt.task_id).verify),
            None => ("the plan".into(), &plan.parts().verify),
        };
        let due = self.now + self.judges_for(at, &whose, checks);
        let unit = &mut self.engine(at).units[number];
        (unit.begun, unit.due) = (true, unit.due.max(due));
        match attempt {
            Some(Attempt { task_id, .. }) => {
                self.look(at, Seen::Begins { task_id: &task_id, process: false })
            }
            None => Ok(()),
        }
    }

    /// Begins the work of an attempt, or finds out what became of it.
    fn begin(&mut self, at: usize, number: usize, attempt: &Attempt, again: bool) -> Result<(), Broken> {
        let stop = self.engine(at).units[number].stop;
        let process = is_process(&step_of(&self.runs[at].plan, &attempt.task_id).work);
        let found = self.runs[at].processes.get(attempt).filter(|_| again);
        let alive = found.is_some_and(|found| found.state == Life::Alive);
        let unknown = again && process && !self.adopts;
        let answer = match (found.cloned(), stop) {
            (Some(found), _) if found.state != Life::Alive => Some(found.left()),
            (_, true) => Some(lost(WorkExit::Cancelled)),
            (_, false) if unknown => Some(lost(WorkExit::Interrupted)),
            _ => None,
        };
        if let Some(fate) = answer {
            if alive {
                self.kill_process(at, attempt);
            }
            self.runs[at].steady &= fate.exit != WorkExit::Interrupted;
            self.engine(at).units.remove(number);
            return self.feed(at, i64::MIN, ended(attempt.clone(), fate));
        }
        let task_id = &attempt.task_id;
        let process = process && !alive;
        self.look(at, Seen::Begins { task_id, process })?;
        self.coverage.count("work", kind(again, alive));
        self.say(|| format!("run {at}:   {attempt} is {}", kind(again, alive)));
        if !alive {
            self.spawn(at, attempt);
        }
        let ends = self.runs[at].processes[attempt].ends;
        let unit = &mut self.engine(at).units[number];
        (unit.begun, unit.due) = (true, ends);
        Ok(())
    }

    /// Lets a process begin, or what is none.
    fn spawn(&mut self, at: usize, attempt: &Attempt) {
        let step = step_of(&self.runs[at].plan, &attempt.task_id);
        let fate = self.fates.work(at, attempt, step);
        let (state, ends) = (Life::Alive, self.now + fate.duration_ms);
        let process = Process { state, fate, ends };
        self.runs[at].processes.insert(attempt.clone(), process);
    }

    /// Ends the work of an attempt.
    fn end(&mut self, at: usize, attempt: &Attempt, stop: bool) -> InputKind {
        let process = self.runs[at].processes.get_mut(attempt).expect("it was begun");
        let mut fate = process.fate.clone();
        if stop {
            fate.exit = WorkExit::Cancelled;
        }
        process.state = Life::Ended(fate.exit.clone());
        self.runs[at].write_file(&attempt.task_id);
        ended(attempt.clone(), fate)
    }

    /// Kills a process that is nobody's.
    fn kill_process(&mut self, at: usize, attempt: &Attempt) {
        if let Some(process) = self.runs[at].processes.get_mut(attempt) {
            process.state = Life::Lost;
        }
    }

    fn judged(&self, at: usize, (attempt, phase): (Option<Attempt>, CheckPhase), stop: bool) -> InputKind {
        let plan = &self.runs[at].plan;
        let checks = match &attempt {
            Some(attempt) => &step_of(plan, &attempt.task_id).verify,
            None => &plan.parts().verify,
        };
        let own = checks.iter().filter(|check| check.phase == phase);
        let checks: Vec<&wf_model::Check> = own.collect();
        let verdicts = if stop {
            checks.iter().map(|check| verdict(check, CheckRuling::Error)).collect()
        } else {
            let round = self.runs[at].durable.rounds.len();
            let whose = (attempt.as_ref(), round);
            self.fates.verdicts(at, whose, phase, &checks)
        };
        let seen = attempt.as_ref().filter(|_| !stop);
        let seen = seen.map(|attempt| self.evidence(at, attempt)).unwrap_or_default();
        InputKind::Judged { attempt, phase, verdicts, seen }
    }

    /// Whether a process of a place lives.
    pub fn lives(&self, at: usize, task_id: &TaskId) -> bool {
        let mut processes = self.runs[at].processes.iter();
        processes.any(|(attempt, process)| attempt.task_id == *task_id && process.state == Life::Alive)
    }
}

/// Whether work is a process, which may outlive its engine. What is begun for the step of an agent is one: a planner
/// has replaced it, and agents are none.
pub fn is_process(work: &StepWork) -> bool {
    !matches!(work, StepWork::Uses(_) | StepWork::Generated(_) | StepWork::Wait(WaitCondition::File(_)))
}

/// How work ends that gives nothing.
fn lost(exit: WorkExit) -> Fate {
    Fate { exit, outputs: JsonObject::new(), standing: None, duration_ms: 0 }
}

/// How work comes to be under way.
fn kind(again: bool, alive: bool) -> &'static str {
    match (again, alive) {
        (false, _) => "started",
        (true, true) => "adopted",
        (true, false) => "started by a watch",
    }
}

impl Process {
    /// What is known of a process that is gone.
    fn left(self) -> Fate {
        match self.state {
            Life::Ended(exit) => Fate { exit, ..self.fate },
            Life::Alive | Life::Lost => lost(WorkExit::Interrupted),
        }
    }
}

fn ended(attempt: Attempt, fate: Fate) -> InputKind {
    let usage = super::budget::usage(&attempt);
    let outputs = if fate.exit.is_success() { fate.outputs } else { JsonObject::new() };
    let (exit, standing) = (fate.exit, fate.standing);
    InputKind::Ended(AttemptEnd { outputs, standing, usage, ..AttemptEnd::new(attempt, exit) })
}
