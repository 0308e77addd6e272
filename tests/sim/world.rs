//! The world: runs, their logs and engines, processes, locks, and a clock.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use serde_json::json;
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::{
    Attempt, Event, EventKind, GatePoint, InputKind, Machine, MachineInput, MachineTurn, TaskId,
};
use wf_model::{CheckPhase, JsonObject, Plan};

use super::{
    coverage::{self, Coverage},
    dice::Dice,
    engine::{Engine, Turned},
    fates::Fates,
    faults::Faults,
    laws::LAWS,
    ledger::Ledger,
    locks::HeldLock,
    look::{Broken, Look, Seen},
    plans,
    process::Process,
    stored::restored,
};

/// When worlds begin.
const BEGIN: i64 = 1_800_000_000_000;

/// How much may happen in a world until all its runs are over.
const MOST_ACTS: usize = 20_000;

/// Which simulation.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub seed: u64,
    /// The most main steps of a plan.
    pub steps: usize,
    pub faults: Faults,
    pub trace: bool,
}

/// What a simulation came to.
pub struct Told {
    pub broken: Option<Broken>,
    pub coverage: Coverage,
    pub trace: Vec<String>,
}

/// What people are asked about: a place, its gates, a phase of its checks.
type Question = (Option<TaskId>, Option<GatePoint>, Option<CheckPhase>);

/// The world.
pub struct World {
    pub options: Options,
    /// The trouble this world has, of what is allowed.
    pub faults: Faults,
    /// How seldom it has it.
    pub seldom: usize,
    /// How many more engines may die.
    pub deaths: u32,
    /// Whether processes that outlived an engine are taken over; else they are killed.
    pub adopts: bool,
    /// How many processes of 4 outlive their engine.
    pub outlive: usize,
    /// Whether the fold is looked at after every turn.
    pub thorough: bool,
    pub dice: Dice,
    pub fates: Fates,
    pub now: i64,
    pub runs: Vec<Run>,
    /// The locks that places hold.
    pub locks: Vec<HeldLock>,
    /// The questions whose subject has changed while people were asked.
    pub changed: BTreeSet<(usize, Question)>,
    pub coverage: Coverage,
    pub trace: Vec<String>,
}

/// A run and what the world has of it.
pub struct Run {
    pub plan: Arc<Plan>,
    pub id: RunId,
    /// The run that must be over first.
    pub after: Option<usize>,
    /// The log, and where its turns end.
    pub log: Vec<Event>,
    pub cuts: Vec<usize>,
    pub durable: Ledger,
    pub decided: Ledger,
    pub engine: Option<Engine>,
    /// Engines so far.
    pub lives: u32,
    /// When a dead engine is started again.
    pub back: i64,
    pub processes: BTreeMap<Attempt, Process>,
    /// How often the file of a place was written.
    pub files: BTreeMap<TaskId, u32>,
    /// The same, as it was when the living engine looked at evidence once more.
    pub looked: Option<BTreeMap<TaskId, u32>>,
    pub cancels: u32,
    /// Answers that may come a second time, and the life of the engine that had them.
    pub stale: VecDeque<(u32, InputKind)>,
    /// Whether its end is a matter of the fates alone, so far.
    pub steady: bool,
    pub over: bool,
}

/// Simulates the world of a seed.
pub fn simulate(options: &Options) -> Told {
    let mut world = World::new(options);
    let lives = std::panic::AssertUnwindSafe(|| {
        world.live()?;
        if world.runs[0].steady {
            world.compare()?;
            world.compare_rooms()
        } else {
            Ok(())
        }
    });
    let broken = match std::panic::catch_unwind(lives) {
        Ok(held) => held.err(),
        Err(_) => Some(Broken { law: "total", reason: "the machine panicked".into() }),
    };
    Told { broken, coverage: world.coverage, trace: world.trace }
}

impl World {
    pub fn new(options: &Options) -> Self {
        let mut dice = Dice::of(options.seed, "world");
        let faults = options.faults.some(&mut dice);
        let mut world = Self {
            options: *options,
            faults,
            seldom: *dice.pick(&[8, 25, 80]),
            deaths: 1 + dice.up_to(7),
            adopts: !dice.one_in(3),
            outlive: *dice.pick(&[0, 2, 4, 4]),
            thorough: dice.one_in(12) || options.trace,
            fates: Fates(options.seed),
            now: BEGIN,
            runs: Vec::new(),
            locks: Vec::new(),
            changed: BTreeSet::new(),
            coverage: Coverage::default(),
            trace: Vec::new(),
            dice,
        };
        world.runs.push(world.drawn(0, None));
        if world.dice.one_in(3) {
            world.runs.push(world.drawn(1, None));
        } else if world.dice.one_in(4) {
            let mut again = world.drawn(0, Some(0));
            again.id = RunId::from_bytes([1; 16]);
            world.runs.push(again);
        }
        world
    }

    fn drawn(&self, number: u8, after: Option<usize>) -> Run {
        let mut dice = Dice::of(self.options.seed, &format!("plan {number}"));
        let drawn = plans::draw(&mut dice, self.options.steps, BEGIN);
        let ledger = Ledger::of(&drawn.plan, &[]);
        Run {
            plan: drawn.plan,
            id: RunId::from_bytes([number; 16]),
            after,
            log: Vec::new(),
            cuts: Vec::new(),
            durable: ledger.clone(),
            decided: ledger,
            engine: None,
            lives: 0,
            back: BEGIN,
            processes: BTreeMap::new(),
            files: BTreeMap::new(),
            looked: None,
            cancels: 0,
            stale: VecDeque::new(),
            steady: drawn.steady,
            over: false,
        }
    }

    /// Lets everything happen until every run is over.
    pub fn live(&mut self) -> Result<(), Broken> {
        if self.options.trace {
            let plans: Vec<String> = self.runs.iter().map(|run| super::shrink::outline(&run.plan)).collect();
            self.trace.extend(plans);
        }
        for _ in 0..MOST_ACTS {
            if self.runs.iter().all(|run| run.over) {
                return self.look(0, Seen::End);
            }
            self.trouble()?;
            self.act()?;
        }
        Err(Broken { law: "ends", reason: format!("something happened {MOST_ACTS} times") })
    }

    /// Asks every law.
    pub fn look(&self, at: usize, seen: Seen<'_>) -> Result<(), Broken> {
        let look = Look { world: self, at, seen };
        for law in LAWS {
            (law.holds)(&look)
                .map_err(|reason| Broken { law: law.name, reason: format!("run {at}: {reason}") })?;
        }
        Ok(())
    }

    /// Writes a line into the trace.
    pub fn say(&mut self, line: impl FnOnce() -> String) {
        if self.options.trace {
            let line = format!("{:>8} {}", self.now - BEGIN, line());
            self.trace.push(line);
        }
    }

    /// Starts an engine for a run: for the first time, or again.
    pub fn start(&mut self, at: usize) -> Result<(), Broken> {
        let (kept, left) = (self.kept(at), self.left(at));
        let baseline = self.fates.baseline(at);
        let advice = self.fates.advice(at, &self.runs[at].plan);
        let run = &mut self.runs[at];
        run.lives += 1;
        run.looked = None;
        let life = run.lives;
        let new = Machine::new(Arc::clone(&run.plan), run.id.clone(), params());
        let now = Moment::from_millis(self.now);
        let mut dice = Dice::of(self.options.seed, &format!("stored {at} {life}"));
        let (shadow, machine) = restored(&new, &run.log, now, &mut dice)?;
        run.decided = run.durable.clone();
        let begun = machine.has_begun();
        let mut engine = Engine::new(machine, shadow, life);
        engine.clock = run.log.last().map_or(i64::MIN, |event| event.at.millis()).max(self.now);
        let turn = begun.then(|| engine.machine.resume(now));
        if !begun {
            self.take_files(at, &kept);
        }
        let run = &mut self.runs[at];
        run.engine = Some(engine);
        self.say(|| format!("run {at}: engine {life} begins"));
        match turn {
            Some(turn) => {
                self.coverage.count("world", "resume");
                self.took(at, turn)
            }
            None => self.feed(
                at,
                i64::MIN,
                InputKind::Begin {
                    kept,
                    left,
                    baseline,
                    dropped: Vec::new(),
                    approved: None,
                    advice,
                    intent: self.fates.intent(at),
                },
            ),
        }
    }

    /// Gives a machine an input and takes what follows.
    pub fn feed(&mut self, at: usize, at_least: i64, what: InputKind) -> Result<(), Broken> {
        let when = self.now.max(at_least);
        self.coverage.count("input", coverage::input(&what));
        self.say(|| format!("run {at}: {}", text(&what)));
        let engine = self.engine(at);
        engine.clock = engine.clock.max(when);
        let turn = engine.machine.turn(MachineInput { at: Moment::from_millis(when), kind: what.clone() });
        let queue = matches!(&what, InputKind::Woke { timer: wf_core::machine::TimerKind::Queue(_) });
        if queue && !turn.events.is_empty() {
            self.runs[at].steady = false;
        }
        let life = self.engine(at).life;
        let copy = !matches!(what, InputKind::Begin { .. } | InputKind::Cancel { .. });
        self.took(at, turn)?;
        if copy && self.dice.one_in(3) {
            let stale = &mut self.runs[at].stale;
            stale.push_back((life, what));
            if stale.len() > 8 {
                stale.pop_front();
            }
        }
        Ok(())
    }

    /// Takes a turn: the laws see it, and it is sent to the log.
    pub fn took(&mut self, at: usize, turn: MachineTurn) -> Result<(), Broken> {
        for event in &turn.events {
            self.say(|| format!("run {at}:   event {}", text(&event.fact)));
            self.coverage.event(&event.fact);
            self.look(at, Seen::Event(event))?;
            let run = &mut self.runs[at];
            run.decided.take(event);
            if let Some(engine) = &mut run.engine {
                engine.shadow.replay(event).expect("the logic is the same");
            }
        }
        let mut events = turn.events.iter();
        if events.any(|event| matches!(&event.fact, EventKind::RoundCompleted(round) if round.goes_on())) {
            self.engine(at).begins_anew();
        }
        self.look(at, Seen::Turn(&turn))?;
        let MachineTurn { events, effects } = turn;
        if events.is_empty() && self.engine(at).turns.is_empty() {
            return self.carry_out_all(at, effects);
        }
        self.engine(at).turns.push_back(Turned { events, effects });
        Ok(())
    }

    /// The engine of a run that has one.
    pub fn engine(&mut self, at: usize) -> &mut Engine {
        self.runs[at].engine.as_mut().expect("it lives")
    }

    /// Lives once more without trouble, and compares the ends.
    fn compare(&mut self) -> Result<(), Broken> {
        let options = Options { faults: Faults::NONE, ..self.options };
        let mut calm = Self::new(&options);
        calm.runs.truncate(1);
        calm.live()?;
        if !calm.runs[0].steady {
            return Ok(());
        }
        self.coverage.count("world", "compared with calm");
        super::laws::same_end(&self.runs[0], &calm.runs[0])
            .map_err(|reason| Broken { law: "same_end", reason })
    }
}

/// The parameters of every run.
fn params() -> JsonObject {
    json!({ "go": true, "stay": false }).as_object().cloned().unwrap_or_default()
}

/// A value, for the trace.
pub fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
