//! What follows from an input.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::flaw::bad_outputs;
use super::gates::has_gates;
use super::rounds::in_ways;
use super::state::{self, Doing, Live, Spot, State};
use super::{
    Approved, Attempt, Baseline, Cached, Effect, Ended, Event, Exit, Fact, GatePoint, Happening,
    Input, Kept, Left, Outcome, Place,
};
use crate::model::{Class, Object, Plan};
use crate::name::{Name, RunId};
use crate::time::Moment;

/// One run of one plan.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The plan as it is written, with the ways that a planner added.
    pub(super) base: Arc<Plan>,
    /// The plan as it is carried out now.
    pub(super) plan: Arc<Plan>,
    pub(super) state: State,
    pub(super) turn: Turn,
    pub(super) now: Moment,
    /// Places that an engine before this one began or staged: another keeper may have their
    /// processes, so nothing is staged beside them.
    pub(super) inherited: BTreeSet<Spot>,
    /// Places that are staged and being taken back, since others come before them.
    pub(super) recalled: BTreeSet<Spot>,
    /// Whether the workspace is looked at when a step begins, so that nothing is staged.
    pub(super) looks_first: bool,
}

/// What follows from an input: facts, and what the world must do once they are durable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The facts, in order.
    pub events: Vec<Event>,
    /// The orders to the world, in order.
    pub effects: Vec<Effect>,
}

/// The record of a run was made by other rules than these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run was recorded by version {found} of the rules, and this is version {}",
    super::LOGIC
)]
pub struct OtherLogic {
    /// The version that made the record.
    pub found: u32,
}

impl Machine {
    /// A run that has not begun. `params` are resolved.
    pub fn new(plan: Arc<Plan>, run: RunId, params: Object) -> Self {
        let state = State::new(&plan, run, params);
        Self {
            base: Arc::clone(&plan),
            plan,
            state,
            turn: Turn::default(),
            now: Moment::default(),
            inherited: BTreeSet::new(),
            recalled: BTreeSet::new(),
            looks_first: false,
        }
    }

    /// Has the workspace looked at when a step begins, if that is asked.
    #[must_use]
    pub fn looking_first(self, looks_first: bool) -> Self {
        Self {
            looks_first,
            ..self
        }
    }

    /// What follows from an input. One that answers nothing open changes nothing.
    pub fn turn(&mut self, input: Input) -> Turn {
        self.now = self.now.max(input.at);
        if self.state.outcome.is_none() {
            self.take(input.what);
            self.notice_budget();
            self.advance();
            self.notice_budget();
        }
        std::mem::take(&mut self.turn)
    }

    /// Takes a recorded fact into account; nothing follows from it.
    pub fn replay(&mut self, event: &Event) -> Result<(), OtherLogic> {
        if let Fact::RunStarted { logic, .. } = &event.fact
            && *logic != super::LOGIC
        {
            return Err(OtherLogic { found: *logic });
        }
        self.now = self.now.max(event.at);
        self.fold(event.at, &event.fact);
        Ok(())
    }

    /// How the run ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        self.state.outcome
    }

    /// Whether the run was told to end, and if so, whether at once.
    pub fn told_to_end(&self) -> Option<bool> {
        let cancelled = self.state.cancelled.as_ref();
        cancelled.map(|cancelled| cancelled.force)
    }

    /// Whether the run has begun.
    pub fn has_begun(&self) -> bool {
        self.state.started.is_some()
    }

    /// The state, to be looked at or written down.
    pub fn state(&self) -> &State {
        &self.state
    }

    fn take(&mut self, what: Happening) {
        match what {
            Happening::Begin {
                kept,
                left,
                dropped,
                baseline,
                approved,
                advice,
                intent,
            } => {
                if !self.has_begun() {
                    self.begin(approved, baseline);
                    for one in dropped {
                        self.emit(one.into());
                    }
                    self.take_over(kept, left);
                    self.advised(advice, intent);
                    self.gate_start();
                }
            }
            Happening::Began { attempt } => self.began(&attempt),
            Happening::Unstaged { attempt } => self.unstaged(&attempt),
            Happening::Ended(ended) => self.ended(ended),
            Happening::Judged {
                attempt: Some(attempt),
                phase,
                verdicts,
                seen,
            } => {
                self.judged(&attempt, phase, verdicts, seen);
            }
            Happening::Judged {
                attempt: None,
                phase,
                verdicts,
                ..
            } => self.plan_judged(phase, verdicts),
            Happening::Woke { timer } => self.woke(timer),
            Happening::Locked { place } => self.locked(&place),
            Happening::Looked { place, found } => self.looked(&place, found),
            Happening::Stale(stale) => self.stale(stale),
            Happening::Confirmed { stale } => self.confirmed(stale),
            Happening::Gated {
                place,
                point,
                gated,
            } => self.gated(place.as_ref(), point, gated),
            Happening::Answered { number, given } => self.answered(number, given),
            Happening::Planned { round, said } => self.planned(round, said.into()),
            Happening::Cancel { why } => self.cancel(why),
        }
    }

    fn begin(&mut self, approved: Option<Box<Approved>>, baseline: Option<Baseline>) {
        let started = Fact::RunStarted {
            logic: super::LOGIC,
            plan: self.plan.id().clone(),
            params: self.state.params.clone(),
        };
        self.emit(started);
        self.set_budget();
        if let Some(approved) = approved {
            self.emit(Fact::RunApproved(approved));
        }
        if let Some(baseline) = baseline {
            self.emit(Fact::BaselineTaken(baseline));
        }
    }

    fn take_over(&mut self, kept: Vec<Kept>, left: Vec<Left>) {
        for kept in kept {
            if self.is_open(&kept.step) {
                self.emit(kept.into());
            }
        }
        for left in left {
            if self.is_open(&left.step) {
                self.emit(left.into());
            }
        }
        self.run_timer();
    }

    fn locked(&mut self, place: &Place) {
        let Some(spot) = self.spot(place) else { return };
        if self.state.returning.remove(&spot) {
            self.state.locked.insert(spot);
            self.resume_live(spot);
        } else if self.state.locking.remove(&spot) {
            self.state.locked.insert(spot);
            let plan = Arc::clone(&self.plan);
            self.state.enqueue(&plan, spot);
        }
    }

    /// Whether the plan has a step of that name, and it has not ended.
    fn is_open(&self, step: &Name) -> bool {
        let ix = self.plan.find(step.as_str());
        ix.is_some_and(|ix| !self.state.slot(ix.0).state.is_final())
    }

    pub(super) fn ended(&mut self, ended: Ended) {
        // Who saw its end need not have seen it begin.
        self.began(&ended.attempt);
        let Some((spot, _)) = self.live(&ended.attempt, Doing::Working) else {
            return;
        };
        self.inherited.remove(&spot);
        self.recalled.remove(&spot);
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let mistake = ended
            .exit
            .is_success()
            .then(|| bad_outputs(step, &ended.outputs))
            .flatten();
        let (exit, told) = match mistake {
            Some(why) => {
                let class = Class::Logical;
                (Exit::Unable { why, class }, None)
            }
            None => (ended.exit, ended.class),
        };
        let success = exit.is_success();
        let gates = has_gates(&plan, Some(spot), GatePoint::Leave);
        let class = class_of(&exit, told);
        self.emit(Fact::AttemptEnded {
            attempt: ended.attempt.clone(),
            how: exit.clone(),
            class,
            outputs: if success {
                ended.outputs
            } else {
                Object::new()
            },
            artifacts: if success { ended.artifacts } else { Vec::new() },
            standing: ended.standing.filter(|_| success && gates),
            usage: ended.usage,
            service: ended.service,
        });
        if !success {
            return self.failed(spot, ended.attempt.attempt, &exit, class);
        }
        self.take_evidence(&ended.attempt, ended.seen);
        if !gates {
            self.confirm_work(spot, ended.attempt, ended.standing);
        } else if !self.gate_no_more(spot, GatePoint::Leave) {
            self.ask_gates(Some(spot), GatePoint::Leave);
        }
    }

    fn looked(&mut self, place: &Place, found: Option<Cached>) {
        let attempt = Attempt {
            place: place.clone(),
            attempt: 0,
        };
        let Some((spot, _)) = self.live(&attempt, Doing::Looking) else {
            return;
        };
        let Some(found) = found else {
            self.state.free(spot);
            return self.start(spot);
        };
        self.emit(Fact::CacheHit {
            place: place.clone(),
            found,
        });
        if has_gates(&self.plan, Some(spot), GatePoint::Leave) {
            self.ask_gates(Some(spot), GatePoint::Leave);
        } else {
            self.confirm_work(spot, attempt, None);
        }
    }

    fn cancel(&mut self, why: String) {
        if self.state.started.is_none() {
            return;
        }
        let force = self.state.cancelled.is_some();
        self.emit(Fact::CancelRequested { why, force });
        self.sweep();
    }

    /// Records a fact and lets the state take it into account.
    pub(super) fn emit(&mut self, fact: Fact) {
        self.fold(self.now, &fact);
        self.turn.events.push(Event { at: self.now, fact });
    }

    /// Lets the state, and with it the ways that steps are done in, take a fact into account.
    fn fold(&mut self, at: Moment, fact: &Fact) {
        self.state.apply(&self.plan, at, fact);
        if let Fact::PlannerAnswered { ways, .. } = fact {
            return self.adopt(ways);
        }
        let changes = match fact {
            Fact::RoundClosed(round) => &round.changes[..],
            Fact::MemoryAdvised { changes, .. } => changes,
            _ => &[],
        };
        if !changes.is_empty() {
            self.plan = in_ways(&self.base, &self.state.control.ways);
        }
    }

    /// The number of a named place.
    pub(super) fn spot(&self, place: &Place) -> Option<Spot> {
        state::spot(&self.plan, place)
    }

    /// The place of an attempt, if just that is being done for it, and was asked for.
    pub(super) fn live(&self, attempt: &Attempt, doing: Doing) -> Option<(Spot, Live)> {
        let spot = self.spot(&attempt.place)?;
        let live = self.state.live.get(&spot)?;
        let asked = !self.state.returning.contains(&spot);
        let same = live.attempt == attempt.attempt && live.doing == doing;
        (asked && same).then(|| (spot, live.clone()))
    }
}

/// Whose fault a failure is. What the work printed may say more than how it ended; not so where
/// nobody saw how it ended, or it was told to.
fn class_of(exit: &Exit, told: Option<Class>) -> Option<Class> {
    match exit {
        Exit::Interrupted | Exit::Cancelled => exit.class(),
        _ if exit.is_success() => None,
        _ => told.or_else(|| exit.class()),
    }
}
