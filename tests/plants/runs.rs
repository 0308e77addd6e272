//! A machine in a world: what it orders happens as the world says, at once or later.

use std::sync::Arc;

use wf_base::{
    name::{Name, RunId},
    time::Moment,
};
use wf_core::machine::{
    Attempt, AttemptEnd, CheckRuling, CheckVerdict, Effect, EventKind, InputKind, Machine, MachineInput,
    RunOutcome, TimerKind, WorkExit,
};
use wf_model::{CheckCertainty, CheckPhase, FailureClass, JsonObject, Plan, StepIx};

use super::{
    Told,
    plan::{STEPS, way_of},
    strategy::Strategy,
    world::{Fate, Shows, World},
};

/// Lets a strategy try itself in a world.
pub fn run(world: &World, strategy: Strategy, plan: &Arc<Plan>) -> Told {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&world.seed.to_be_bytes());
    let id = RunId::from_bytes(bytes);
    let mut run = Run {
        world,
        misread: strategy == Strategy::Misread,
        machine: Machine::new(Arc::clone(plan), id, JsonObject::new()),
        now: 0,
        open: Vec::new(),
        attempts: [0; 3],
        last: [const { None }; 3],
        rounds: 0,
        path: Vec::new(),
    };
    run.feed(InputKind::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    while run.machine.outcome().is_none() {
        run.next();
    }
    run.told()
}

struct Run<'w> {
    world: &'w World,
    /// Whether each failure is taken for one of the other class.
    misread: bool,
    machine: Machine,
    /// Milliseconds since the run began.
    now: i64,
    /// What is under way, with when it is over.
    open: Vec<(i64, Job)>,
    attempts: [u32; 3],
    /// What happened to the last attempt of each step.
    last: [Option<Fate>; 3],
    rounds: u32,
    /// The rules of its rounds, and how it ended.
    path: Vec<String>,
}

enum Job {
    Work(Attempt),
    Killed(Attempt),
    Timer(TimerKind),
    /// What is answered at once.
    Answer(Box<InputKind>),
}

impl Run<'_> {
    /// Lets what is over first be over; of what is over at once, what was asked for first.
    fn next(&mut self) {
        let soonest = self.open.iter().enumerate();
        let (at, _) =
            soonest.min_by_key(|(_, (due, _))| *due).expect("a run that goes on waits for something");
        let (due, job) = self.open.remove(at);
        self.now = self.now.max(due);
        let what = match job {
            Job::Work(attempt) => {
                let exit = self.exit(&attempt);
                ended(attempt, exit)
            }
            Job::Killed(attempt) => ended(attempt, (WorkExit::Cancelled, None)),
            Job::Timer(timer) => InputKind::Woke { timer },
            Job::Answer(answer) => *answer,
        };
        self.feed(what);
    }

    fn feed(&mut self, what: InputKind) {
        let at = Moment::from_millis(self.now);
        let turn = self.machine.turn(MachineInput { at, kind: what });
        for event in &turn.events {
            self.note(&event.fact);
        }
        for effect in turn.effects {
            self.take(effect);
        }
    }

    fn note(&mut self, fact: &EventKind) {
        match fact {
            EventKind::RoundCompleted(round) => {
                self.rounds += 1;
                self.path.push(format!("{:?}", round.solved.rule));
                self.path.extend(round.stop_reason.clone());
            }
            EventKind::BudgetExhausted { .. } => self.path.push("budget exhausted".into()),
            _ => {}
        }
    }

    fn take(&mut self, effect: Effect) {
        let job = match effect {
            Effect::Start { attempt, .. } => return self.start(attempt),
            Effect::Check { attempt, phase, .. } => Job::Answer(Box::new(self.judged(attempt, phase))),
            Effect::Wake { timer, at } => return self.open.push((at.millis(), Job::Timer(timer))),
            Effect::Confirm { .. } => Job::Answer(Box::new(InputKind::Confirmed { stale: Vec::new() })),
            Effect::Kill { attempt: Some(attempt), .. } => {
                let same = |job: &Job| matches!(job, Job::Work(work) if *work == attempt);
                self.open.retain(|(_, job)| !same(job));
                Job::Killed(attempt)
            }
            Effect::Finish { .. } => return,
            other => panic!("no plan here asks for {other:?}"),
        };
        self.open.push((self.now, job));
    }

    fn start(&mut self, attempt: Attempt) {
        let step = number(&attempt);
        self.attempts[step] += 1;
        let ix = u32::try_from(step).expect("there are three steps");
        let way = way_of(step, self.machine.plan().step(StepIx(ix)));
        let begun = (self.attempts[step], self.now);
        let fate = self.world.fate(step, &way, begun);
        self.open.push((self.now + fate.duration_ms, Job::Work(attempt)));
        self.last[step] = Some(fate);
    }

    /// How a failure of the last attempt of a step is taken, and how it shows.
    fn failure(&self, attempt: &Attempt) -> Option<(FailureClass, Shows)> {
        let (failure_class, shows) = self.last[number(attempt)].as_ref()?.failure?;
        let failure_class = match failure_class {
            FailureClass::Logical if self.misread => FailureClass::Environmental,
            FailureClass::Environmental if self.misread => FailureClass::Logical,
            failure_class => failure_class,
        };
        Some((failure_class, shows))
    }

    fn exit(&self, attempt: &Attempt) -> (WorkExit, Option<FailureClass>) {
        match self.failure(attempt) {
            Some((failure_class, Shows::Work)) => (WorkExit::Code { code: 1 }, Some(failure_class)),
            _ => (WorkExit::Code { code: 0 }, None),
        }
    }

    fn judged(&self, attempt: Option<Attempt>, phase: CheckPhase) -> InputKind {
        let about = attempt.as_ref().expect("the plan has no checks of its own");
        let failure = self.failure(about);
        let [.., first, second] = STEPS[number(about)];
        let verdict = |(at, name): (usize, &str)| {
            let failed = failure.filter(|(_, shows)| *shows == Shows::Check(at));
            CheckVerdict {
                name: Name::parse(name).expect("a name"),
                phase,
                ruling: if failed.is_some() { CheckRuling::Fail } else { CheckRuling::Pass },
                expected: String::new(),
                found: String::new(),
                evidence: String::new(),
                failure_class: failed.map(|(failure_class, _)| failure_class),
                duration_ms: 0,
                certainty: CheckCertainty::default(),
                isolation: None,
                hidden: Vec::new(),
                changes: None,
                changed_inputs: Vec::new(),
                foreign_changes: None,
                is_unbounded: false,
                tests: None,
                before: None,
                judgement: None,
            }
        };
        let verdicts = [first, second].into_iter().enumerate();
        InputKind::Judged { verdicts: verdicts.map(verdict).collect(), attempt, phase, seen: Vec::new() }
    }

    /// Whether it is verified is asked of the world, not of the machine.
    fn told(self) -> Told {
        let well = self.machine.outcome() == Some(RunOutcome::Succeeded);
        let works = |fate: &Option<Fate>| matches!(fate, Some(Fate { failure: None, .. }));
        let all = self.last.iter().all(works);
        Told {
            verified: well && all,
            accepted: well && !all,
            attempts: self.attempts,
            duration_ms: self.now,
            rounds: self.rounds,
            end: match self.path.as_slice() {
                [] if well => "at once".into(),
                [] => "no retry is left".into(),
                path => path.join(", "),
            },
        }
    }
}

/// The number of the step of an attempt.
fn number(attempt: &Attempt) -> usize {
    let id = attempt.task_id.step.as_str();
    let step = STEPS.iter().position(|step| step[0] == id);
    step.expect("there are three steps")
}

fn ended(attempt: Attempt, (exit, failure_class): (WorkExit, Option<FailureClass>)) -> InputKind {
    InputKind::Ended(AttemptEnd { failure_class, ..AttemptEnd::new(attempt, exit) })
}
