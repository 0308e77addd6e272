//! The checks of a result, phase after phase, and the loops back to its work (Sylk W22, W23, W25).
//!
//! The work of an attempt ends well, and `inspect` is asked; once all of that holds `test`, then
//! `verify`. What `inspect` or `test` finds sends the work back, as often as `loops` says; what
//! `verify` finds is for `retry`. Whoever is asked when no loop is left may let a phase be
//! ignored: for the attempt at hand, and at the price that its result is not verified.

use serde::{Deserialize, Serialize};

use super::end::Final;
use super::flaw::{refutation, told};
use super::scope::{self, View};
use super::state::{self, Doing, ItemSlot, Spot, State};
use super::{
    Artifact, Ask, Attempt, Effect, Fact, Machine, Phase, Standing, StepState, Timer, Verdict,
};
use crate::model::{Check, CheckPhase, Class, Exhausted, Needs, Object, Plan};

/// An attempt that follows because a check of `inspect` or `test` did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Loop {
    /// The phase that sent the work back.
    pub phase: CheckPhase,
    /// Which of its loops this is, from 1.
    pub number: u32,
    /// How many it has.
    pub of: u32,
}

impl std::fmt::Display for Loop {
    /// `inspect 2/3`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.phase.as_str(), self.number, self.of)
    }
}

/// The checks of a phase.
pub(super) fn of_phase(checks: &[Check], phase: CheckPhase) -> impl Iterator<Item = &Check> {
    checks.iter().filter(move |check| check.phase == phase)
}

impl Machine {
    /// Asks for the checks of an attempt whose turn it is.
    pub(super) fn ask_checks(&mut self, spot: Spot, attempt: Attempt) {
        // After a resume they are asked for once its lock is there again.
        if self.state.returning.contains(&spot) {
            return;
        }
        let plan = std::sync::Arc::clone(&self.plan);
        let checks = &plan.step(spot.ix()).verify;
        let Some(phase) = self.phase_of(spot) else {
            return self.believed(spot);
        };
        let view = View {
            plan: &plan,
            state: &self.state,
            spot: Some(spot),
        };
        match scope::check_reads(&view, of_phase(checks, phase)) {
            Ok(reads) => {
                let item_value = self.state.item(spot).cloned();
                self.turn.effects.push(Effect::Check {
                    attempt: Some(attempt),
                    phase,
                    item_value,
                    reads,
                });
            }
            Err(error) => {
                self.finish(
                    spot,
                    Final::bad(Standing::Reported, Some(Class::Logical), error.to_string()),
                );
            }
        }
    }

    /// The phase whose checks a place is at; `None`: all hold.
    fn phase_of(&self, spot: Spot) -> Option<CheckPhase> {
        let over = self.state.place(spot).and_then(|slot| slot.passed);
        CheckPhase::after(over, &self.plan.step(spot.ix()).verify)
    }

    /// The phase that the plan's own checks are at; the last, if there is none.
    pub(super) fn own_phase(&self) -> CheckPhase {
        CheckPhase::after(self.state.passed, &self.plan.parts().verify).unwrap_or_default()
    }

    /// Takes in what the checks of a phase ruled on an attempt.
    pub(super) fn judged(
        &mut self,
        attempt: &Attempt,
        phase: CheckPhase,
        verdicts: Vec<Verdict>,
        seen: Vec<Artifact>,
    ) {
        let Some((spot, _)) = self.live(attempt, Doing::Checking) else {
            return;
        };
        if self.phase_of(spot) != Some(phase) {
            return;
        }
        let refuted = verdicts.iter().find(|verdict| !verdict.passed());
        let refuted = refuted.map(|verdict| (refutation(verdict), verdict.class));
        self.take_evidence(attempt, seen);
        self.tell_verdicts(Some(attempt), phase, verdicts);
        match refuted {
            None => self.holds(spot, attempt, phase),
            Some((why, _)) if self.halting(spot) => {
                self.finish(
                    spot,
                    Final {
                        state: StepState::Cancelled,
                        standing: Standing::Reported,
                        class: None,
                        why,
                    },
                );
            }
            Some(_) if attempt.attempt == 0 && self.barred(spot) => {
                self.finish(spot, Final::skipped(self.stopping_why()));
            }
            // Checks did not confirm what the cache held: the work runs after all.
            Some(_) if attempt.attempt == 0 => self.start(spot),
            Some((why, class)) if phase == CheckPhase::Verify => {
                self.refuted(spot, attempt.attempt, class, why);
            }
            Some((why, class)) => self.sent_back(spot, (attempt, phase), class, why),
        }
    }

    fn tell_verdicts(&mut self, of: Option<&Attempt>, phase: CheckPhase, verdicts: Vec<Verdict>) {
        for verdict in verdicts {
            let attempt = of.cloned();
            let verdict = Verdict { phase, ..verdict };
            self.emit(Fact::CriterionJudged { attempt, verdict });
        }
    }

    /// Goes on behind a phase of an attempt: to the next one, or to the end of the place.
    fn holds(&mut self, spot: Spot, attempt: &Attempt, phase: CheckPhase) {
        let checks = &self.plan.step(spot.ix()).verify;
        if CheckPhase::after(Some(phase), checks).is_none() {
            return self.believed(spot);
        }
        let attempt = attempt.clone();
        self.emit(Fact::ChecksPassed {
            attempt: Some(attempt.clone()),
            phase,
        });
        if self.halting(spot) {
            // The other checks will not run: what was not asked is the worker's word.
            return self.finish(spot, Final::good(Standing::Reported));
        }
        self.ask_checks(spot, attempt);
    }

    /// Ends a place whose checks hold, those aside that people let be ignored.
    fn believed(&mut self, spot: Spot) {
        let ignored = self.state.place(spot).is_some_and(|slot| slot.ignored);
        let standing = if ignored {
            Standing::Reported
        } else {
            Standing::Verified
        };
        self.finish(spot, Final::good(standing));
    }

    /// Lets the work be done anew, as long as the phase that found something has loops.
    fn sent_back(
        &mut self,
        spot: Spot,
        (attempt, phase): (&Attempt, CheckPhase),
        class: Option<Class>,
        why: String,
    ) {
        let loops = self.plan.step(spot.ix()).loops;
        let used = (self.state.place(spot)).map_or(0, |slot| slot.loops_of(phase));
        let next = attempt.attempt.checked_add(1);
        match next.filter(|_| used < loops.max) {
            Some(next) => {
                let looped = Loop {
                    phase,
                    number: used + 1,
                    of: loops.max,
                };
                let attempt = state::attempt(&self.plan, spot, next);
                self.emit(Fact::RetryScheduled {
                    attempt: attempt.clone(),
                    due: self.now,
                    why,
                    looped: Some(looped),
                });
                self.turn.effects.push(Effect::Wake {
                    timer: Timer::Retry(attempt),
                    at: self.now,
                });
            }
            None if loops.on_exhausted == Exhausted::Ask => self.ask_to_ignore(spot, phase, used),
            None => self.finish(spot, Final::bad(Standing::Refuted, class, why)),
        }
    }

    /// Asks people whether to go on although a phase does not hold.
    fn ask_to_ignore(&mut self, spot: Spot, phase: CheckPhase, used: u32) {
        let slot = self.state.place(spot);
        let failed = slot.and_then(|slot| slot.tries.as_ref());
        let failed = failed.map_or(&[][..], |tries| &tries.failed);
        let lines = failed.iter().map(|unmet| {
            let found = told(&unmet.criterion, &unmet.expected, &unmet.found);
            (unmet.criterion.to_string(), found.into())
        });
        let show: Object = lines.collect();
        let first = failed.first();
        let first = first.map(|unmet| told(&unmet.criterion, &unmet.expected, &unmet.found));
        let message = format!(
            "ignore `{}`? It does not hold, and all its loops are used ({used}): {}",
            phase.as_str(),
            first.unwrap_or_default()
        );
        let mut ask = self.request(Some(spot), message, &Needs::default());
        if spot.item.is_none() {
            // What is let pass is what was looked at.
            ask.relies_on.push(self.plan.step(spot.ix()).id.clone());
        }
        self.put(Ask {
            phase: Some(phase),
            show,
            ..ask
        });
    }

    /// Goes on with an attempt although a phase did not hold: people said so.
    pub(super) fn ignored(&mut self, spot: Spot, phase: CheckPhase) {
        if let Some(live) = self.state.live.get(&spot) {
            let attempt = state::attempt(&self.plan, spot, live.attempt);
            self.holds(spot, &attempt, phase);
        }
    }

    /// Ends a place whose phase did not hold, and that nobody let pass.
    pub(super) fn not_ignored(&mut self, spot: Spot, phase: CheckPhase, no: &str) {
        let slot = self.state.place(spot);
        let tries = slot.and_then(|slot| slot.tries.as_ref());
        let class = tries.and_then(|tries| tries.class);
        let unmet = tries.and_then(|tries| tries.failed.first());
        let found = unmet.map(|unmet| told(&unmet.criterion, &unmet.expected, &unmet.found));
        let found = found.unwrap_or_else(|| format!("`{}` does not hold", phase.as_str()));
        let why = format!("{found}; {no}");
        self.finish(spot, Final::bad(Standing::Refuted, class, why));
    }

    /// Takes in what the plan's own checks of a phase ruled.
    pub(super) fn plan_judged(&mut self, phase: CheckPhase, verdicts: Vec<Verdict>) {
        let asked = self.state.phase == Phase::Verify && self.state.judged.is_none();
        if !asked || phase != self.own_phase() {
            return;
        }
        self.tell_verdicts(None, phase, verdicts);
        let refuted = self.state.judged == Some(false);
        let next = CheckPhase::after(Some(phase), &self.plan.parts().verify);
        if refuted || next.is_none() || self.state.ending() {
            return self.after_verify();
        }
        let attempt = None;
        self.emit(Fact::ChecksPassed { attempt, phase });
        self.check_plan();
    }
}

impl State {
    /// Notes that a phase of checks is over, for an attempt or for the plan's own.
    pub(super) fn phase_passed(
        &mut self,
        plan: &Plan,
        attempt: Option<&Attempt>,
        phase: CheckPhase,
    ) {
        let Some(attempt) = attempt else {
            self.passed = Some(phase);
            // What follows is ruled on by itself.
            self.judged = None;
            return;
        };
        let slot = state::spot(plan, &attempt.place).and_then(|spot| self.place_mut(spot));
        if let Some(slot) = slot {
            slot.passed = Some(phase);
        }
    }

    /// Notes which phase sent the work back, if one did.
    pub(super) fn looped(&mut self, spot: Spot, looped: Option<Loop>) {
        let Some(slot) = self.place_mut(spot) else {
            return;
        };
        if let Some(tries) = &mut slot.tries {
            tries.looped = looped;
        }
        match looped.map(|looped| looped.phase) {
            Some(CheckPhase::Inspect) => slot.inspector_loops += 1,
            Some(CheckPhase::Test) => slot.tester_loops += 1,
            Some(CheckPhase::Verify) | None => {}
        }
    }
}

impl ItemSlot {
    /// How many loops of a phase are used.
    fn loops_of(&self, phase: CheckPhase) -> u32 {
        match phase {
            CheckPhase::Inspect => self.inspector_loops,
            CheckPhase::Test => self.tester_loops,
            CheckPhase::Verify => 0,
        }
    }

    /// How many attempts were loops, which `retry` does not count.
    pub(super) fn loops(&self) -> u32 {
        self.inspector_loops.saturating_add(self.tester_loops)
    }

    /// Begins an attempt: no phase is over, and nothing is ignored any more.
    pub(super) fn asked_anew(&mut self) {
        self.passed = None;
        self.ignored = false;
    }

    /// Notes that people let a phase be ignored, and with it what it found.
    pub(super) fn ignores(&mut self) {
        self.ignored = true;
        if let Some(tries) = &mut self.tries {
            tries.failed.clear();
        }
    }
}
