//! A seeded world: plans, and what happens to their attempts, as functions of a number.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId, RunId},
    time::Moment,
};
use wf_core::{
    gate::GateOutcome,
    machine::{
        ApprovalOutcome, Attempt, CheckRuling, Effect, Event, EventKind, GateQuestion, InputKind, Machine,
        MachineInput, PlanReply, RequestDecision, RunOutcome, StaleFile, StepState, TaskId, WorkExit,
    },
};
use wf_model::{
    Check, CheckPhase, FailureClass, OnStepError, OnStepFailure, Plan, PlanParts, PlanPolicy, RetryPolicy,
    Step, StepIx, StepRepetition, StepWork, WaitCondition, expr::Template,
};

pub use super::answers::{ended, verdict};
use super::{answers::file_of, play::as_carried};
pub use crate::sim::dice::Dice;

/// What the world does to an attempt; a function of the attempt alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Works,
    Lies,
    Breaks,
}

pub fn fate(seed: u64, attempt: &Attempt) -> Fate {
    let digest = wf_base::digest::Sha256Digest::of_bytes(format!("{seed}{attempt}").as_bytes());
    match digest.bytes()[0] {
        0..150 => Fate::Works,
        150..200 => Fate::Lies,
        _ => Fate::Breaks,
    }
}

pub fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A step that does nothing in particular.
pub fn step(id: &str, depends_on: Vec<StepIx>) -> Step {
    Step { depends_on, ..Step::new(name(id), StepWork::Exec(vec![Template::literal("true")])) }
}

/// A criterion that expects nothing in particular.
pub fn check(id: &str) -> Check {
    Check::new(name(id))
}

/// A plan of steps, with those from `main` on as `finally` steps.
pub fn plan_with(steps: Vec<Step>, main: usize, policy: PlanPolicy, verify: Vec<Check>) -> Arc<Plan> {
    Plan::new(PlanParts { verify, ..PlanParts::new(PlanId::parse("p").unwrap(), steps, main, policy) })
        .unwrap()
}

/// A random plan of up to a dozen steps with everything that does not need expressions.
pub fn any_plan(dice: &mut Dice, on_failure: OnStepFailure) -> Arc<Plan> {
    let main = 1 + dice.below(9);
    let last = dice.below(3);
    let mut steps = Vec::new();
    for at in 0..main + last {
        let mut needs = Vec::new();
        if at > 0 && at < main {
            for _ in 0..dice.below(3) {
                needs.push(StepIx(u32::try_from(dice.below(at)).unwrap()));
            }
            needs.sort_unstable();
            needs.dedup();
        }
        let mut step = step(&format!("s{at}"), needs);
        decorate(&mut step, dice);
        steps.push(step);
    }
    let policy = PlanPolicy {
        max_parallel: 1 + u32::try_from(dice.below(3)).unwrap(),
        on_failure,
        grace: Duration::ZERO,
    };
    let verify = if dice.one_in(3) { vec![check("whole")] } else { Vec::new() };
    plan_with(steps, main, policy, verify)
}

fn decorate(step: &mut Step, dice: &mut Dice) {
    if dice.one_in(2) {
        step.verify = vec![check("good")];
    }
    if dice.one_in(2) {
        let on = vec![FailureClass::Logical, FailureClass::Environmental, FailureClass::Interrupted];
        step.retry =
            RetryPolicy { max: 1 + u32::try_from(dice.below(2)).unwrap(), on, ..RetryPolicy::default() }
                .into();
        std::sync::Arc::make_mut(&mut step.retry).backoff = Duration::from_secs(dice.next() % 5);
    }
    if dice.one_in(4) {
        let items = (0..dice.below(5)).map(|n| json!(n)).collect();
        step.fan = StepRepetition::List(items);
        step.max_parallel = dice.one_in(2).then_some(1);
    } else if dice.one_in(6) {
        step.work = StepWork::Wait(WaitCondition::For(Duration::from_secs(3)));
    }
    if dice.one_in(5) {
        step.concurrency = Some("lock".into());
    }
    if dice.one_in(6) {
        step.on_error = OnStepError::Continue;
    }
    step.idempotent = dice.one_in(4);
}

pub fn run_id() -> RunId {
    RunId::from_bytes([7; 16])
}

/// The world around one machine: what it was asked for, and who holds the lock.
pub struct World {
    pub seed: u64,
    pub now: i64,
    pub open: Vec<Effect>,
    pub events: Vec<Event>,
    pub inputs: Vec<MachineInput>,
    /// How many events each turn ended with.
    pub cuts: Vec<usize>,
    pub holder: Option<TaskId>,
    /// The steps that declare files, which are evidence.
    pub declaring: BTreeSet<Name>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            now: 0,
            open: Vec::new(),
            events: Vec::new(),
            inputs: Vec::new(),
            cuts: Vec::new(),
            holder: None,
            declaring: BTreeSet::new(),
        }
    }

    /// Gives the machine an input and keeps what follows.
    pub fn feed(&mut self, machine: &mut Machine, what: InputKind) -> Vec<Event> {
        let input = MachineInput { at: Moment::from_millis(self.now), kind: what };
        self.inputs.push(input.clone());
        let turn = machine.turn(input);
        self.take(turn)
    }

    pub fn take(&mut self, turn: wf_core::machine::MachineTurn) -> Vec<Event> {
        let turn = as_carried(turn);
        self.events.extend(turn.events.iter().cloned());
        self.cuts.push(self.events.len());
        for effect in turn.effects {
            if let Effect::Unlock { task_id, .. } = &effect {
                if self.holder.as_ref() == Some(task_id) {
                    self.holder = None;
                }
                self.open.retain(|open| !matches!(open, Effect::Lock { task_id: p, .. } if p == task_id));
            } else if let Effect::Kill { attempt, .. } = &effect {
                self.kill(attempt.as_ref());
            } else {
                self.open.push(effect);
            }
        }
        turn.events
    }

    /// A killed attempt ends as cancelled, whatever its fate.
    fn kill(&mut self, attempt: Option<&Attempt>) {
        for open in &mut self.open {
            if let Effect::Start { attempt: started, .. } = open
                && Some(&*started) == attempt
            {
                *open = Effect::Kill { attempt: Some(started.clone()), force: true };
            }
        }
    }

    /// Answers one open effect, picked by the dice. False if there is none.
    pub fn answer(&mut self, machine: &mut Machine, dice: &mut Dice) -> bool {
        let ready: Vec<usize> = (0..self.open.len()).filter(|at| self.answerable(*at)).collect();
        let Some(pick) = ready.get(dice.below(ready.len().max(1))) else {
            return false;
        };
        let effect = self.open.remove(*pick);
        if let Some(what) = self.happening(effect) {
            self.feed(machine, what);
        }
        true
    }

    fn answerable(&self, at: usize) -> bool {
        !matches!(&self.open[at], Effect::Lock { .. }) || self.holder.is_none()
    }

    fn happening(&mut self, effect: Effect) -> Option<InputKind> {
        match effect {
            Effect::Start { attempt, .. } => Some(self.ended(attempt)),
            Effect::Watch { attempt, .. } => Some(ended(attempt, WorkExit::Interrupted)),
            Effect::Kill { attempt, .. } => Some(ended(attempt?, WorkExit::Cancelled)),
            Effect::Check { attempt, phase, .. } => Some(self.judged(attempt, phase)),
            Effect::Wake { timer, at } => {
                self.now = self.now.max(at.millis());
                Some(InputKind::Woke { timer })
            }
            Effect::Lock { task_id, .. } => {
                self.holder = Some(task_id.clone());
                Some(InputKind::Locked { task_id })
            }
            Effect::Lookup { task_id, .. } => Some(InputKind::Looked { task_id, found: None }),
            Effect::Confirm { places } => Some(InputKind::Confirmed { stale: self.stale(places) }),
            Effect::Gate(GateQuestion { task_id, point, tool_call, .. }) => Some(InputKind::Gated {
                task_id,
                point,
                gated: GateOutcome::default(),
                tool_call,
                arguments: None,
                exchange: None,
            }),
            Effect::Ask(ask) => Some(InputKind::Answered {
                number: ask.request,
                given: ApprovalOutcome {
                    decision: self.decision(&ask),
                    by: Vec::new(),
                    tokens: Vec::new(),
                    reason: String::new(),
                    answer: None,
                },
            }),
            Effect::Plan { request } => Some(InputKind::Planned(PlanReply {
                round: request.round.round,
                again: request.rejected.is_some(),
                said: wf_core::machine::PlannerReply::Nothing("nobody is there".into()),
                must_not: Vec::new(),
                problems: Vec::new(),
                calls: wf_core::machine::PlannerCalls::default(),
            })),
            Effect::Guide { .. }
            | Effect::Compact { .. }
            | Effect::Unlock { .. }
            | Effect::Remember { .. }
            | Effect::Finish { .. }
            | Effect::Dismiss { .. } => None,
            Effect::CallModel(_)
            | Effect::CallTool(_)
            | Effect::StartChild { .. }
            | Effect::ServeClient(_)
            | Effect::EndAgent(_)
            | Effect::PrepareMerge { .. }
            | Effect::Merge(_) => {
                unreachable!("no step is done by an agent")
            }
        }
    }

    /// The files of places that change after they were checked.
    fn stale(&self, places: impl IntoIterator<Item = TaskId>) -> Vec<StaleFile> {
        let stale = places.into_iter().filter(|place| self.changes(place));
        stale.map(|task_id| StaleFile { path: format!("{task_id}.txt"), task_id }).collect()
    }

    /// What people decide: no to some of the phases that they could let be ignored.
    fn decision(&self, ask: &wf_core::machine::ApprovalRequest) -> RequestDecision {
        let no = ask.phase.is_some_and(|phase| self.finds(&ask.request.to_string(), phase));
        if no { RequestDecision::Denied } else { RequestDecision::Approved }
    }

    /// Whether a phase of checks before `verify` finds something.
    fn finds(&self, about: &str, phase: CheckPhase) -> bool {
        let digest = Sha256Digest::of_bytes(format!("{} {} {about}", self.seed, phase.as_str()).as_bytes());
        phase != CheckPhase::Verify && digest.bytes()[0] < 110
    }

    /// Whether the file of a place changes after it was checked.
    fn changes(&self, task_id: &TaskId) -> bool {
        let digest = Sha256Digest::of_bytes(format!("{} changes {task_id}", self.seed).as_bytes());
        digest.bytes()[0] < 100
    }

    fn ended(&self, attempt: Attempt) -> InputKind {
        let code = i32::from(fate(self.seed, &attempt) == Fate::Breaks);
        let outputs = json!({ "rows": 3, "size": attempt.attempt });
        let mut happening = ended(attempt, WorkExit::Code { code });
        if let InputKind::Ended(ended) = &mut happening {
            ended.outputs = outputs.as_object().cloned().unwrap();
        }
        happening
    }

    fn judged(&self, attempt: Option<Attempt>, phase: CheckPhase) -> InputKind {
        let lies = attempt.as_ref().is_some_and(|a| match phase {
            CheckPhase::Verify => fate(self.seed, a) == Fate::Lies,
            phase => self.finds(&a.to_string(), phase),
        });
        let declares = |attempt: &Attempt| self.declaring.contains(&attempt.task_id.step);
        let seen = attempt.iter().filter(|attempt| declares(attempt));
        let seen = seen.map(file_of).collect();
        let ruling = if lies { CheckRuling::Fail } else { CheckRuling::Pass };
        InputKind::Judged { attempt, phase, verdicts: vec![verdict(ruling)], seen }
    }

    /// Answers until the run is over.
    pub fn drive(&mut self, machine: &mut Machine, dice: &mut Dice) -> RunOutcome {
        for _ in 0..10_000 {
            if let Some(outcome) = machine.outcome() {
                return outcome;
            }
            assert!(self.answer(machine, dice), "the run is stuck: {:?}", machine.state());
        }
        panic!("the run does not end");
    }

    /// The final state of every place that ended.
    pub fn ends(&self) -> BTreeMap<TaskId, StepState> {
        ends(&self.events)
    }
}

pub fn ends(events: &[Event]) -> BTreeMap<TaskId, StepState> {
    let mut ends = BTreeMap::new();
    for event in events {
        if let EventKind::StepEnded { task_id, state, .. } = &event.fact {
            assert_eq!(ends.insert(task_id.clone(), *state), None, "{task_id} ended twice");
        }
    }
    ends
}
