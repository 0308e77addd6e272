//! What can go on goes on: dependencies that ended, places with room, phases that are over.

use std::sync::Arc;

use super::end::Final;
use super::gates::has_gates;
use super::scope::{self, View};
use super::state::{self, Spot};
use super::{Effect, Exit, Fact, GatePoint, Machine, Phase, Place, StepState, Timer};
use crate::expr::Expr;
use crate::model::{Class, Object, OnFailure, StepIx, Wait, Work};
use crate::time::Moment;

/// Why something did not run that somebody chose to leave out.
pub const NOT_CHOSEN: &str = "not chosen";

/// How it begins why a step is skipped after another one has failed.
pub const NOT_STARTED: &str = "not started: ";

impl Machine {
    /// Goes on until nothing more follows without an input.
    pub(super) fn advance(&mut self) {
        // Nothing begins before the gates of the run let it.
        if self.state.phase == Phase::Gates && !self.state.never_began() {
            return;
        }
        loop {
            while let Some(step) = self.state.due.pop_first() {
                self.consider(step);
            }
            if self.admit() {
                continue;
            }
            if !self.state.due.is_empty() || !self.next_phase() {
                return;
            }
        }
    }

    /// Asks whether a step whose dependencies have ended is to run.
    fn consider(&mut self, step: u32) {
        let spot = Spot { step, item: None };
        let plan = Arc::clone(&self.plan);
        if self.state.slot(step).state.is_final() {
            return;
        }
        let declared = plan.step(spot.ix());
        let asks = declared.when.as_deref().is_some_and(Expr::asks_status);
        if self.state.forced() || self.state.ending() && !plan.is_finally(spot.ix()) {
            return self.finish(spot, Final::cancelled(self.ending_why()));
        }
        if self.state.left.get(&step).is_some_and(Vec::is_empty) {
            return self.finish(spot, Final::skipped(NOT_CHOSEN));
        }
        if let (Some(blocker), false) = (self.state.slot(step).blocker, asks) {
            let name = &plan.step(StepIx(blocker)).id;
            let how = match self.state.slot(blocker).state {
                StepState::Failed => "failed",
                StepState::Cancelled => "was cancelled",
                _ => "was skipped",
            };
            return self.finish(
                spot,
                Final::skipped(format!("its dependency `{name}` {how}")),
            );
        }
        if self.state.closing() && !plan.is_finally(spot.ix()) {
            return self.refuse(spot);
        }
        if let Some(when) = &declared.when {
            let view = View {
                plan: &plan,
                state: &self.state,
                spot: Some(spot),
            };
            match scope::holds(&view, when) {
                Ok(true) => {}
                Ok(false) => {
                    let why = format!("its condition is false: {}", when.source());
                    return self.finish(spot, Final::skipped(why));
                }
                Err(error) => return self.unable(spot, &error.to_string()),
            }
        }
        self.unfold(spot, &declared.fan);
    }

    /// Ends the wait of a place for its turn, when that takes too long.
    pub(super) fn queue_timer(&mut self, spot: Spot) {
        if let Some(at) = self.queue_limit(spot) {
            let timer = Timer::Queue(state::place(&self.plan, spot));
            self.turn.effects.push(Effect::Wake { timer, at });
        }
    }

    /// When a place has waited too long for its turn.
    pub(super) fn queue_limit(&self, spot: Spot) -> Option<Moment> {
        let limit = self.plan.step(spot.ix()).queue_timeout?;
        Some(self.state.slot(spot.step).ready?.after(limit))
    }

    /// Ends a place that cannot even begin.
    pub(super) fn unable(&mut self, spot: Spot, why: &str) {
        let standing = super::Standing::Unchecked;
        self.finish(spot, Final::bad(standing, Some(Class::Logical), why.into()));
    }

    /// Passes on to the next phase if this one is over. True if it did.
    fn next_phase(&mut self) -> bool {
        let queued = !self.state.queue.is_empty() || !self.state.roomless.is_empty();
        if !self.state.live.is_empty() || queued || self.is_planning() {
            return false;
        }
        match self.state.phase {
            Phase::Steps if self.has_begun() && self.state.open == 0 => {
                let bad = self.state.failed.is_some() || self.state.closing();
                if bad || self.plan.parts().verify.is_empty() {
                    self.after_verify();
                } else {
                    self.emit(Fact::PhaseEntered {
                        phase: Phase::Verify,
                    });
                    self.check_plan();
                }
                true
            }
            Phase::Gates if self.state.open + self.state.open_last == 0 => {
                self.conclude();
                true
            }
            Phase::Finally if self.state.open_last == 0 => {
                self.conclude();
                true
            }
            // Who insists on the end does not wait for what evidence is worth.
            Phase::Confirm if self.state.forced() => {
                self.end_run();
                true
            }
            _ => false,
        }
    }

    /// Asks for the plan's own checks.
    pub(super) fn check_plan(&mut self) {
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: None,
        };
        let phase = self.own_phase();
        let checks = super::phases::of_phase(&self.plan.parts().verify, phase);
        let reads = scope::check_reads(&view, checks);
        let reads: Object = reads.unwrap_or_default();
        self.turn.effects.push(Effect::Check {
            attempt: None,
            phase,
            item_value: None,
            reads,
        });
    }

    /// Goes on after the plan's own criteria, or without them: gates look at the outputs of a run
    /// that succeeds.
    pub(super) fn after_verify(&mut self) {
        if self.judge_round() {
            return;
        }
        let accepted = self.state.control.accepted.is_some();
        if self.state.control.abandoned.is_some() {
            return self.after_publish();
        }
        let bad = self.state.failed.is_some() || self.state.closing();
        let held = self.state.judged != Some(false);
        if (!bad && held || accepted) && has_gates(&self.plan, None, GatePoint::Publish) {
            let phase = Phase::Publish;
            self.emit(Fact::PhaseEntered { phase });
            self.ask_gates(None, GatePoint::Publish);
        } else {
            self.after_publish();
        }
    }

    /// Goes on with the `finally` steps, or to the end.
    pub(super) fn after_publish(&mut self) {
        if self.plan.parts().main < self.plan.steps().len() {
            self.emit(Fact::PhaseEntered {
                phase: Phase::Finally,
            });
        } else {
            self.conclude();
        }
    }

    /// Why nothing new begins, after a failure.
    pub(super) fn stopping_why(&self) -> String {
        format!("{NOT_STARTED}{}", self.failing_why())
    }

    /// The failure after which nothing new begins.
    pub(super) fn failing_why(&self) -> String {
        match self.state.stopping.or(self.state.failed) {
            Some(step) => format!("`{}` had failed", self.failed_place(step)),
            None => "another step had failed".into(),
        }
    }

    /// The place of a step that failed: of a repeated one, the first item that did.
    fn failed_place(&self, step: u32) -> String {
        let place = Place::of(&self.plan.step(StepIx(step)).id);
        let many = self.state.slot(step).many.as_ref();
        let mut slots = many.into_iter().flat_map(|many| (0_u32..).zip(&many.slots));
        let failed = slots.find(|(_, slot)| slot.ended == Some(StepState::Failed));
        let Some((item, _)) = failed else {
            return place.to_string();
        };
        let item = Some(item);
        let of = self.state.item(Spot { step, item });
        Place { item, ..place }.called(of.map(|item| item.key.as_str()))
    }

    /// Why nothing new begins, at the end.
    pub(super) fn ending_why(&self) -> String {
        match &self.state.cancelled {
            Some(cancelled) => cancelled.why.clone(),
            None if self.state.timed_out => "the run took longer than it may".into(),
            None => self.spent_why().unwrap_or_default(),
        }
    }

    /// Whether a place has ended.
    pub(super) fn is_over(&self, spot: Spot) -> bool {
        let step_over = self.state.slot(spot.step).state.is_final();
        let place_over = self
            .state
            .place(spot)
            .is_some_and(|slot| slot.ended.is_some());
        step_over || spot.item.is_some() && place_over
    }

    /// Whether nothing may begin at a place any more, because a step failed.
    pub(super) fn barred(&self, spot: Spot) -> bool {
        let exempt = self.asks_status(spot.step) || self.plan.is_finally(spot.ix());
        self.state.stopping.is_some() && !exempt
    }

    /// Whether a step is kept alive when the run stops: it asks for the state of others.
    pub(super) fn asks_status(&self, step: u32) -> bool {
        self.plan
            .step(StepIx(step))
            .when
            .as_deref()
            .is_some_and(Expr::asks_status)
    }

    /// Whether nothing that runs for a place shall go on.
    pub(super) fn halting(&self, spot: Spot) -> bool {
        let cancels = self.plan.parts().policy.on_failure == OnFailure::Cancel;
        let stopped = self.state.stopping.is_some() && cancels && !self.asks_status(spot.step);
        if self.plan.is_finally(spot.ix()) {
            self.state.forced()
        } else {
            stopped || self.state.ending()
        }
    }
}

/// When a wait for time is over that began at an instant, and how it ends then; `None` for all
/// other work. A wait may not outlast its timeout, however late it is looked at.
pub(super) fn wait_end(
    work: &Work,
    timeout: Option<std::time::Duration>,
    since: Moment,
) -> Option<(Moment, Exit)> {
    let over = match work {
        Work::Wait(Wait::For(while_)) => since.after(*while_),
        Work::Wait(Wait::Until(at)) => (*at).max(since),
        _ => return None,
    };
    match timeout.map(|limit| since.after(limit)) {
        Some(limit) if limit < over => Some((limit, Exit::TimedOut)),
        _ => Some((over, Exit::Done)),
    }
}
