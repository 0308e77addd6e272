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

use super::gates::has_gates;
use super::scope::{self, View};
use super::state::{self, Doing, Live, Spot, State};
use super::{Attempt, Effect, Fact, GatePoint, Machine, Phase, StepState};
use crate::expr::{EvalError, Expr, Ref, Template};
use crate::model::{Object, OnFailure, Plan, StepIx, Work};
use crate::time::Moment;

/// The most that is staged, however much may run at once.
const MOST: u32 = 16;

/// How many attempts may be staged where so many may run at once: while a write to the disk is
/// under way each may end once, and the next one, too. Where one runs at a time none is: the order
/// is that of the plan, and what becomes ready comes before what follows it there.
pub(super) fn most(room: u32) -> u32 {
    match room {
        0 | 1 => 0,
        room => room.saturating_mul(2).min(MOST),
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
        && !step.when.as_ref().is_some_and(Expr::asks_status)
        && !step.env.iter().any(|variable| secret(&variable.value))
        && !plan.is_finally(ix)
        && !gated(GatePoint::Enter)
        && !gated(GatePoint::Leave)
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
        let untried = |slot: &state::ItemSlot| slot.attempts == 0 && slot.tool_args.is_none();
        state.phase == Phase::Steps
            && state.busy == state.plain
            && state.stopping.is_none()
            && !state.closing()
            // What is spent is known only once an attempt has ended.
            && state.ledger.budget.is_none()
            // A round may let anything begin anew.
            && parts.replan.is_none()
            && self.inherited.is_empty()
            && state.place(spot).is_some_and(untried)
            && is_plain(&self.plan, spot.ix())
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
        self.emit(Fact::AttemptUnstaged(attempt.clone()));
        let ending = self.state.ending();
        if ending || self.state.stopping.is_some() {
            let killing = ending || self.plan.parts().policy.on_failure == OnFailure::Cancel;
            self.sweep_step(spot.step, killing);
        }
    }

    /// Takes back what is staged.
    pub(super) fn unstage(&mut self) {
        if self.state.staged == 0 {
            return;
        }
        let staged = self.state.live.iter();
        let staged = staged.filter(|(_, live)| live.doing == Doing::Staged);
        let effects = staged.map(|(spot, live)| Effect::Unstage {
            attempt: state::attempt(&self.plan, *spot, live.attempt),
        });
        self.turn.effects.extend(effects);
    }
}
