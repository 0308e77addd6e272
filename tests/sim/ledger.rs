//! What a list of events says about a run, kept apart from the machine that made them.

use std::collections::{BTreeMap, BTreeSet};

use wf_base::{digest::Sha256Digest, name::Name, time::Moment};
use wf_core::machine::{
    ApprovalOutcome, ApprovalRequest, Attempt, Event, EventKind, GatePoint, RequestDecision, Round, RunPhase,
    Standing, StepState, TaskId,
};
use wf_model::{EscalationAction, JsonObject, Plan, Step, StepIx, StepWork};

use super::tried::Tried;

/// What is known about a run.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what is noted are facts of their own")]
pub struct Ledger {
    pub places: BTreeMap<TaskId, Book>,
    /// What each step depends on.
    pub needs: BTreeMap<Name, Vec<Name>>,
    /// How many items a repeated step has.
    pub items: BTreeMap<Name, u32>,
    /// Their keys.
    pub keys: BTreeMap<Name, Vec<String>>,
    /// Items, by step and key, whose results were taken over, each with the digest of its file.
    pub kept: BTreeMap<(Name, String), Option<Sha256Digest>>,
    /// Whether somebody chose to leave something out.
    pub left: bool,
    pub begun: bool,
    pub phase: RunPhase,
    pub stopping: bool,
    /// Whether the run was told to end, and whether at once.
    pub cancelled: Option<bool>,
    pub timed_out: bool,
    /// The places whose evidence is stale.
    pub stale: BTreeSet<TaskId>,
    /// The first step whose failure counts.
    pub failed: Option<Name>,
    /// Whether the plan's own criteria held.
    pub judged: Option<bool>,
    pub last: Option<Moment>,
    /// When the run began, and when its `finally` steps did.
    pub since: Option<Moment>,
    pub finally_since: Option<Moment>,
    /// What people are asked and have not answered.
    pub asks: BTreeMap<u32, ApprovalRequest>,
    /// The last request, also of those that are resolved.
    pub asked: u32,
    /// The places about which people agreed: to what, and how.
    pub agreed: BTreeMap<TaskId, (ApprovalRequest, ApprovalOutcome)>,
    /// The points of the run, and of places, whose gates let pass.
    pub passed: BTreeSet<(Option<TaskId>, GatePoint)>,
    /// Whether a gate keeps the run from going on.
    pub blocked: bool,
    /// The rounds that have ended.
    pub rounds: Vec<Round>,
    /// The round that the planner was asked about last, and whether it has answered.
    pub planning: Option<(u32, bool)>,
    /// The round that it was asked about once more.
    pub asked_again: Option<u32>,
    /// What it has used up, and of what budget.
    pub budget: super::budget::Book,
    /// Its agents.
    pub agents: super::calls::Agents,
    /// What is known about plans of the run.
    pub generated: super::generated::Generated,
    /// What is known about merges.
    pub merges: super::merges::Merges,
    /// Its end, as it was told.
    pub over: Option<EventKind>,
}

/// What is known about a place.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact")]
pub struct Book {
    /// The number of the last attempt.
    pub attempts: u32,
    /// How many attempts were begun in earlier rounds.
    pub base: u32,
    /// When the last round began that it is done again in.
    pub again: Option<Moment>,
    /// The attempt under way; 0 is a result of the cache.
    pub live: Option<u32>,
    /// When it began.
    pub since: Option<Moment>,
    pub checking: bool,
    /// The next attempt, and when it may begin.
    pub due: Option<(u32, Moment)>,
    /// How many attempts were interrupted.
    pub interrupted: u32,
    /// How often `inspect` and `test` sent the work back.
    pub loops: (u32, u32),
    /// How often a gate wanted it done again.
    pub sent_back: u32,
    /// The verdicts on the last attempt: passed, not passed.
    pub verdicts: (usize, usize),
    /// True if it ended refuted in the round before.
    pub refuted: bool,
    /// All attempts, those of the cache as 0, and what was ruled on them.
    pub history: Vec<Tried>,
    /// The digest of the file of the last attempt, as it was checked.
    pub evidence: Option<Sha256Digest>,
    pub ended: Option<End>,
    pub ended_at: Option<Moment>,
    /// Since when the items are known.
    pub expanded: Option<Moment>,
    /// The failed attempt that a planner is being asked about.
    pub consults: Option<u32>,
    /// How often a planner was asked in this round, and how often it gave guidance.
    pub guided: (u32, u32),
    /// The failed attempt that people are being asked about.
    pub stuck: Option<u32>,
    /// How often people guided it, and the failed attempt after which they did so last.
    pub helped: (u32, Option<u32>),
    /// Whether it was said that it waits for its lock, since its last attempt began.
    pub awaits: bool,
    pub cached: bool,
    pub kept: bool,
    /// Whether a gate escalated to it.
    pub spawned: bool,
    /// When gates or people let it in last.
    pub let_in: Option<Moment>,
}

/// How a place ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    pub state: StepState,
    pub standing: Standing,
    pub allowed_to_fail: bool,
    pub outputs: JsonObject,
}

impl Ledger {
    /// What a list of events says.
    pub fn of<'a>(plan: &Plan, events: impl IntoIterator<Item = &'a Event>) -> Self {
        let name = |ix: &StepIx| plan.step(*ix).id.clone();
        let needs = |step: &Step| step.depends_on.iter().map(name).collect();
        let steps = plan.steps().iter();
        let mut ledger =
            Self { needs: steps.map(|step| (step.id.clone(), needs(step))).collect(), ..Self::default() };
        events.into_iter().for_each(|event| ledger.take(event));
        ledger
    }

    /// What is known about a place.
    pub fn book(&self, task_id: &TaskId) -> Book {
        self.places.get(task_id).cloned().unwrap_or_default()
    }

    /// How a place ended.
    pub fn end(&self, task_id: &TaskId) -> Option<&End> {
        self.places.get(task_id)?.ended.as_ref()
    }

    /// Whether a place, or the step it belongs to, has ended.
    pub fn is_over(&self, task_id: &TaskId) -> bool {
        self.end(task_id).is_some() || self.end(&TaskId::of_step(&task_id.step)).is_some()
    }

    /// Whether the run was told to end or took too long.
    pub fn ending(&self) -> bool {
        self.cancelled.is_some() || self.timed_out || self.budget.overtime
    }

    /// How many attempts take up room.
    pub fn busy(&self, plan: &Plan) -> usize {
        let roomy = |(place, book): &(&TaskId, &Book)| {
            book.live.is_some_and(|live| live == 0 || takes_room(step_of(plan, place)))
        };
        self.places.iter().filter(roomy).count()
    }

    /// Whether gates can be asked: their place is alive, and they have not let pass.
    pub fn may_ask(&self, task_id: Option<&TaskId>, point: GatePoint) -> bool {
        let passed = self.passed.contains(&(task_id.cloned(), point));
        match (task_id, point) {
            (Some(place), GatePoint::Leave) => self.book(place).checking || self.is_over(place),
            (Some(place), _) => !passed || self.is_over(place),
            (None, _) => self.begun && !passed,
        }
    }

    /// Takes one more event into account.
    pub fn take(&mut self, event: &Event) {
        self.last = Some(event.at);
        self.budget.take(event);
        self.agents.take(event);
        self.merges.take(&event.fact);
        self.generated.take(&event.fact);
        match &event.fact {
            EventKind::RunStarted { .. } => (self.begun, self.since) = (true, Some(event.at)),
            EventKind::StepReused { .. } | EventKind::ItemReused(_) => self.reuse(&event.fact),
            EventKind::StepDeselected(_) => self.left = true,
            EventKind::StepExpanded { step, items } => {
                let count = u32::try_from(items.len()).expect("lists are short");
                self.items.insert(step.clone(), count);
                self.keys.insert(step.clone(), items.iter().map(|item| item.key.clone()).collect());
                self.at(&TaskId::of_step(step)).expanded = Some(event.at);
                for (item, known) in (0..).zip(items) {
                    let kept = self.kept.get(&(step.clone(), known.key.clone())).copied();
                    let book = self.at(&TaskId { step: step.clone(), item: Some(item) });
                    book.kept = kept.is_some();
                    book.evidence = kept.flatten();
                }
            }
            EventKind::CheckCompleted { attempt: None, verdict } => {
                self.judged = Some(self.judged.unwrap_or(true) && verdict.passed());
            }
            EventKind::ChecksPassed { attempt: None, .. } => self.judged = None,
            EventKind::RunDraining { .. } => self.stopping = true,
            EventKind::CancelRequested { force, .. } => self.cancelled = Some(*force),
            EventKind::RunTimedOut => self.timed_out = true,
            EventKind::PhaseStarted { phase } => {
                self.phase = *phase;
                if *phase == RunPhase::Finally {
                    self.finally_since = Some(event.at);
                }
            }
            EventKind::RunEnded { .. } => self.over = Some(event.fact.clone()),
            of_a_place => {
                self.take_of_place(of_a_place);
                self.take_of_checks(of_a_place);
            }
        }
        self.take_besides(event);
    }

    /// What is noted of a fact besides: when it was, and what it is worth.
    fn take_besides(&mut self, event: &Event) {
        match &event.fact {
            EventKind::StepReused { step, .. } => self.at(&TaskId::of_step(step)).ended_at = Some(event.at),
            EventKind::StepEnded { task_id, .. } => self.at(task_id).ended_at = Some(event.at),
            EventKind::AttemptStarted(attempt) => {
                self.at(&attempt.task_id).since = Some(event.at);
                for point in [GatePoint::Leave, GatePoint::Again] {
                    self.passed.remove(&(Some(attempt.task_id.clone()), point));
                }
            }
            EventKind::EvidenceTaken { attempt, files } => {
                self.at(&attempt.task_id).evidence = files.first().map(|file| file.digest);
            }
            EventKind::EvidenceStale(stale) => self.falls_back(&stale.task_id),
            EventKind::ApprovalRequested(ask) => {
                self.asks.insert(ask.request, (**ask).clone());
                self.asked = self.asked.max(ask.request);
                if let (Some(stuck), Some(place)) = (&ask.stuck, &ask.task_id) {
                    let book = self.at(place);
                    (book.live, book.stuck) = (None, Some(stuck.attempt));
                }
            }
            EventKind::ApprovalResolved { request: number, given, .. } => {
                let ask = self.asks.remove(number);
                let place = ask.as_ref().and_then(|ask| ask.task_id.clone());
                if let Some(book) = place.as_ref().map(|place| self.at(place))
                    && let Some(stuck) = book.stuck.take()
                {
                    if given.decision == RequestDecision::Answered {
                        book.helped = (book.helped.0 + 1, Some(stuck));
                        book.let_in = Some(event.at);
                    }
                    return;
                }
                match ask.zip(place).filter(|_| given.decision == RequestDecision::Approved) {
                    Some((ask, place)) if ask.phase.is_some() => self.at(&place).ignores(),
                    Some((ask, place)) => {
                        self.agreed.insert(place, (ask, given.clone()));
                    }
                    None => {}
                }
            }
            EventKind::GatesPassed { task_id, point, .. } => {
                self.passed.insert((task_id.clone(), *point));
                let enters = matches!(point, GatePoint::Enter | GatePoint::Again);
                task_id.iter().filter(|_| enters).for_each(|place| self.at(place).let_in = Some(event.at));
            }
            EventKind::RunBlocked(_) => self.blocked = true,
            EventKind::PlannerRequested { round, .. } => self.planning = Some((*round, false)),
            EventKind::PlannerAccepted { round, .. } => self.planning = Some((*round, true)),
            EventKind::PlannerRejected(rejection) if rejection.asked_again => {
                self.asked_again = Some(rejection.round);
            }
            EventKind::PlannerRejected(rejection) => self.planning = Some((rejection.round, true)),
            EventKind::RoundCompleted(round) => {
                self.rounds.push((**round).clone());
                self.follow(round, event.at);
            }
            _ => {}
        }
    }

    /// Since when its wait for a turn counts: people who were asked before it take no time of that.
    pub fn queued(&self, plan: &Plan, task_id: &TaskId) -> Option<Moment> {
        let let_in = self.places.get(task_id).and_then(|book| book.let_in);
        self.ready(plan, task_id).max(let_in)
    }

    /// Since when a place waits for its turn: since all it depends on has ended, or its items are known.
    pub fn ready(&self, plan: &Plan, task_id: &TaskId) -> Option<Moment> {
        let step = step_of(plan, task_id);
        let over = |id: &Name| self.places.get(&TaskId::of_step(id)).and_then(|book| book.ended_at);
        if task_id.item.is_some() {
            return self.places.get(&TaskId::of_step(&task_id.step))?.expanded;
        }
        let at = plan.find(task_id.step.as_str())?.index();
        if at >= plan.parts().main {
            let before = plan.steps()[plan.parts().main..at].last();
            return self.finally_since.max(before.and_then(|before| over(&before.id)));
        }
        let needed = step.depends_on.iter().map(|ix| over(&plan.step(*ix).id));
        let again = self.places.get(task_id).and_then(|book| book.again);
        needed.max().unwrap_or(self.since).max(again)
    }

    fn take_of_place(&mut self, fact: &EventKind) {
        match fact {
            EventKind::LockRequested { task_id, .. } => self.at(task_id).awaits = true,
            EventKind::Escalated { name, action: EscalationAction::SpawnTask, .. } => {
                let step = Name::parse(name).expect("escalations and steps are called alike");
                self.at(&TaskId::of_step(&step)).spawned = true;
            }
            EventKind::Escalated { task_id: Some(place), .. } => self.at(place).sent_back += 1,
            EventKind::CacheHit { task_id, .. } => {
                let book = self.at(task_id);
                (book.live, book.checking, book.cached) = (Some(0), true, true);
                book.awaits = false;
                book.begins(0);
            }
            EventKind::AttemptStarted(Attempt { task_id, attempt }) => {
                let book = self.at(task_id);
                (book.live, book.attempts) = (Some(*attempt), *attempt);
                (book.due, book.verdicts, book.checking) = (None, (0, 0), false);
                (book.awaits, book.cached) = (false, false);
                book.begins(*attempt);
            }
            EventKind::AttemptEnded { attempt, how, .. } => {
                let book = self.at(&attempt.task_id);
                book.checking = how.is_success();
                if !book.checking {
                    book.live = None;
                }
                book.interrupted += u32::from(*how == wf_core::machine::WorkExit::Interrupted);
            }
            EventKind::StepEnded { task_id, state, standing, allowed_to_fail, outputs, .. } => {
                let end = End {
                    state: *state,
                    standing: *standing,
                    allowed_to_fail: *allowed_to_fail,
                    outputs: outputs.clone(),
                };
                let book = self.at(task_id);
                (book.live, book.due, book.ended) = (None, None, Some(end));
                let counts = task_id.item.is_none() && *state == StepState::Failed && !allowed_to_fail;
                if counts && self.failed.is_none() {
                    self.failed = Some(task_id.step.clone());
                }
            }
            _ => {}
        }
    }

    /// A place is no longer what was checked, nor is the repeated step that it is an item of.
    fn falls_back(&mut self, task_id: &TaskId) {
        self.stale.insert(task_id.clone());
        for place in [task_id.clone(), TaskId::of_step(&task_id.step)] {
            if let Some(end) = &mut self.at(&place).ended
                && end.standing.is_checked()
            {
                end.standing = Standing::Reported;
            }
        }
    }

    pub(super) fn at(&mut self, task_id: &TaskId) -> &mut Book {
        self.places.entry(task_id.clone()).or_default()
    }
}

/// The step of a place.
pub fn step_of<'a>(plan: &'a Plan, task_id: &TaskId) -> &'a Step {
    plan.step(step_ix(plan, task_id))
}

/// Whether the step of a place is one of the `finally` steps.
pub fn is_finally(plan: &Plan, task_id: &TaskId) -> bool {
    plan.is_finally(step_ix(plan, task_id))
}

fn step_ix(plan: &Plan, task_id: &TaskId) -> StepIx {
    let found = plan.find(task_id.step.as_str());
    found.expect("the place is of this plan")
}

/// Whether the work of a step takes up room.
pub fn takes_room(step: &Step) -> bool {
    !matches!(step.work, StepWork::Wait(_) | StepWork::Approve(_))
}
