//! Attempts that are staged.
//!
//! Between the end of a step and the beginning of the next one lie a decision, a write to the disk
//! and two processes that must be woken: where steps are short, the room that one left stays
//! empty for longer than the next one takes. So some attempts are recorded before there is room
//! for them, and given to those who keep the processes, who let one begin the moment another has
//! ended.
//!
//! Nobody but this machine decides, so they let it begin only where there is nothing to decide:
//! the one that ended was plain, its process ended with code 0 and gave nothing. After any
//! other end nothing that is staged begins until this machine knew of that end when it staged it.
//!
//! **Invariant:** while something is staged, all that takes up room is plain, so that those who
//! count processes count what takes up room.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gates::has_gates;
use super::scope::{self, View};
use super::state::{self, Doing, Live, Spot, State};
use super::{Attempt, Effect, Exit, Fact, GatePoint, Machine, Phase, StepState};
use crate::expr::{EvalError, Expr, Ref, Template};
use crate::model::{Object, OnFailure, Plan, StepIx, Work};
use crate::time::Moment;

/// The most that is staged in turn, however much may run at once.
const MOST: u32 = 32;

/// Within what time an attempt ends soon: a write to the disk takes so much of it that others should
/// share it.
const SOON: Duration = Duration::from_millis(100);

/// How many attempts may be staged where so many may run at once and so many ended well and soon, one
/// after the other: while a write to the disk is under way each may end once, and the next one, too;
/// and where they are short, the more of them share a write, the less each costs. A bad end refuses
/// all, and after a loss of power all are in doubt, so otherwise few are staged. Where one runs at a
/// time none is: what becomes ready comes before what follows it in the plan.
pub(super) fn most(room: u32, well: u32) -> u32 {
    match room {
        0 | 1 => 0,
        room => {
            let few = room.saturating_mul(2);
            few.saturating_add(well)
                .min(few.saturating_mul(4))
                .min(MOST)
        }
    }
}

/// Whether nothing but the end of its process is to be seen of the work of a step, and nothing
/// stands before it.
pub fn is_plain(plan: &Plan, ix: StepIx) -> bool {
    let step = plan.step(ix);
    let spot = Spot {
        step: ix.0,
        item: None,
    };
    let gated = |point| has_gates(plan, Some(spot), point);
    let secret = |value: &Template| {
        let mut refs = value.refs().iter();
        refs.any(|reference| matches!(reference.name, Ref::Secret(_)))
    };
    matches!(step.work, Work::Run(_) | Work::Exec(_))
        && step.verify.is_empty()
        && step.outputs.is_empty()
        && step.artifacts.is_empty()
        && step.cache.is_none()
        && step.concurrency.is_none()
        && step.queue_timeout.is_none()
        && !step.when.as_deref().is_some_and(Expr::asks_status)
        && !step.env.iter().any(|variable| secret(&variable.value))
        && !plan.is_finally(ix)
        && !gated(GatePoint::Enter)
        && !gated(GatePoint::Leave)
}

/// What decides how many are staged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// How many of those that take up room are plain.
    pub(super) plain: u32,
    /// How many are staged.
    pub(super) staged: u32,
    /// How many attempts ended well and soon since the last one that did not.
    pub(super) well: u32,
}

impl Counts {
    /// An attempt ended that had taken so long.
    pub(super) fn ended(&mut self, how: &Exit, took: Duration) {
        let well = how.is_success() && took < SOON;
        self.well = if well { self.well.saturating_add(1) } else { 0 };
    }
}

impl State {
    /// An attempt is staged.
    pub(super) fn put_on_stage(&mut self, plan: &Plan, at: Moment, attempt: &Attempt) {
        if let Some(spot) = self.leave_queue(plan, &attempt.place) {
            let live = Live {
                attempt: attempt.attempt,
                since: at,
                doing: Doing::Staged,
                room: false,
                plain: true,
            };
            self.engage(spot, live);
        }
    }

    /// An attempt is staged no more.
    pub(super) fn take_off_stage(&mut self, plan: &Plan, attempt: &Attempt) {
        if let Some(spot) = state::spot(plan, &attempt.place) {
            self.free(spot);
            self.enqueue(plan, spot);
            self.show(spot, StepState::Queued);
        }
    }
}

impl Machine {
    /// Whether the first attempt of a place may be staged.
    pub(super) fn may_stage(&self, spot: Spot) -> bool {
        let state = &self.state;
        let parts = self.plan.parts();
        state.phase == Phase::Steps
            && state.busy == state.counts.plain
            && state.stopping.is_none()
            && !state.closing()
            // What is spent is known only once an attempt has ended.
            && state.ledger.budget.is_none()
            // A round may let anything begin anew.
            && parts.replan.is_none()
            && self.inherited.is_empty()
            // What was approved is looked at when a step begins.
            && !self.looks_first
            && self.could_be_staged(spot)
    }

    /// Whether the next attempt of a place is of those that are staged.
    fn could_be_staged(&self, spot: Spot) -> bool {
        let untried = |slot: &state::ItemSlot| slot.attempts == 0 && slot.tool_args.is_none();
        self.state.place(spot).is_some_and(untried) && is_plain(&self.plan, spot.ix())
    }

    /// Stages the first attempt of a place.
    pub(super) fn stage(&mut self, spot: Spot) {
        match self.work_reads(spot) {
            Ok(reads) => {
                let attempt = state::attempt(&self.plan, spot, 1);
                self.emit(Fact::AttemptStaged(attempt.clone()));
                self.set_out(spot, attempt, None, reads);
            }
            Err(error) => self.unable(spot, &error.to_string()),
        }
    }

    /// Lets the world find out what became of an attempt that was staged before the engine died.
    pub(super) fn ask_of_staged(&mut self, spot: Spot, attempt: Attempt, since: Moment) {
        let reads = self.work_reads(spot).unwrap_or_default();
        self.set_out(spot, attempt, Some(since), reads);
    }

    fn work_reads(&self, spot: Spot) -> Result<Object, EvalError> {
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: Some(spot),
        };
        scope::work_reads(&view, self.plan.step(spot.ix()))
    }

    fn set_out(&mut self, spot: Spot, attempt: Attempt, since: Option<Moment>, reads: Object) {
        self.turn.effects.push(Effect::Stage {
            attempt,
            since,
            item_value: self.state.item(spot).cloned(),
            reads,
        });
    }

    /// An attempt that was staged has begun.
    pub(super) fn began(&mut self, attempt: &Attempt) {
        if self.live(attempt, Doing::Staged).is_some() {
            self.emit(Fact::AttemptStarted(attempt.clone()));
        }
    }

    /// An attempt that was staged does not begin: it waits for its turn again, or its turn does
    /// not come any more.
    pub(super) fn unstaged(&mut self, attempt: &Attempt) {
        let Some((spot, _)) = self.live(attempt, Doing::Staged) else {
            return;
        };
        self.inherited.remove(&spot);
        self.recalled.remove(&spot);
        self.emit(Fact::AttemptUnstaged(attempt.clone()));
        let ending = self.state.ending();
        if ending || self.state.stopping.is_some() {
            let killing = ending || self.plan.parts().policy.on_failure == OnFailure::Cancel;
            self.sweep_step(spot.step, killing);
        }
    }

    /// Takes back what is staged.
    pub(super) fn unstage(&mut self) {
        for spot in self.staged_since(None) {
            self.take_back(spot);
        }
    }

    /// Takes back what is staged and comes after a place whose turn it is, and which cannot be
    /// staged in front of it.
    pub(super) fn make_way(&mut self) {
        let first = self.turn_of();
        let Some(spot) = first.filter(|spot| !self.could_be_staged(*spot)) else {
            return;
        };
        // What is staged in other cases is taken back already.
        if self.state.stopping.is_some() || self.state.closing() || !self.inherited.is_empty() {
            return;
        }
        for spot in self.staged_since(Some(spot)) {
            if self.recalled.insert(spot) {
                self.take_back(spot);
            }
        }
    }

    /// The last place that is staged.
    pub(super) fn last_staged(&self) -> Option<Spot> {
        self.staged_since(None).pop()
    }

    /// The places that are staged, in order: all, or those that come after another.
    fn staged_since(&self, after: Option<Spot>) -> Vec<Spot> {
        if self.state.counts.staged == 0 {
            return Vec::new();
        }
        let staged = self.state.live.iter();
        let staged =
            staged.filter(|(spot, live)| live.doing == Doing::Staged && Some(**spot) > after);
        staged.map(|(spot, _)| *spot).collect()
    }

    fn take_back(&mut self, spot: Spot) {
        let attempt = state::attempt(&self.plan, spot, 1);
        self.turn.effects.push(Effect::Unstage { attempt });
    }
}
