//! The fold: what each fact does to the state. Decides nothing.

use std::time::Duration;

use super::ends::End;
use super::gates::has_gates;
use super::stage::is_plain;
use super::state::{self, Cancelled, Doing, Gave, Live, Many, Spot, State};
use super::{Attempt, Cached, Exit, Fact, GatePoint, Item, Phase, Place, StepState, Verdict};
use crate::model::{Object, Plan, Work};
use crate::name::Name;
use crate::time::Moment;

impl State {
    /// Takes one more fact into account.
    pub(super) fn apply(&mut self, plan: &Plan, at: Moment, fact: &Fact) {
        self.ledger.take(at, fact);
        match fact {
            Fact::RunStarted { .. } => self.begin(plan, at),
            Fact::StepKept {
                step,
                outputs,
                standing,
                ..
            } => {
                let end = End::kept(*standing, at);
                self.keep(plan, step, outputs, end);
            }
            Fact::ItemKept { .. } => self.offer(plan, fact),
            Fact::StepLeft { step, but } => {
                if let Some(ix) = plan.find(step.as_str()) {
                    self.left.insert(ix.0, but.clone());
                }
            }
            Fact::StepExpanded { step, items } => self.expand(plan, at, step, items),
            Fact::CriterionJudged { attempt, verdict } => {
                self.count_ruling(plan, attempt.as_ref(), verdict);
                match attempt {
                    Some(attempt) => self.ruled(plan, attempt, verdict),
                    None => self.judge(verdict),
                }
            }
            Fact::MemoryAdvised { .. } => self.take_advice(plan, fact),
            Fact::RoundClosed(round) => self.close_round(plan, round, at),
            Fact::PlannerAsked { .. }
            | Fact::PlannerAnswered { .. }
            | Fact::PlannerRefused { .. } => self.planner(at, fact),
            Fact::ChecksPassed { attempt, phase } => {
                self.phase_passed(plan, attempt.as_ref(), *phase);
            }
            Fact::RunStopping { step } => self.stopping = plan.find(step.as_str()).map(|ix| ix.0),
            Fact::CancelRequested { why, force } => {
                let why = why.clone();
                self.cancelled = Some(Cancelled { why, force: *force });
            }
            Fact::RunTimedOut => self.timed_out = true,
            Fact::PhaseEntered { phase } => self.enter(plan, at, *phase),
            Fact::RunEnded { outcome, .. } => {
                self.outcome = Some(*outcome);
                self.phase = Phase::Over;
            }
            of_a_place => {
                self.apply_to_place(plan, at, of_a_place);
                self.apply_held(plan, at, of_a_place);
            }
        }
    }

    fn apply_to_place(&mut self, plan: &Plan, at: Moment, fact: &Fact) {
        match fact {
            Fact::LockAwaited { place, .. } => self.awaits_lock(plan, place),
            Fact::CacheHit { place, found } => {
                let cached = Attempt {
                    place: place.clone(),
                    attempt: 0,
                };
                let doing = after_work(plan, &cached);
                self.occupy(plan, at, &cached, doing);
                self.give(plan, place, Gave::cached(found));
            }
            Fact::AttemptStaged(attempt) => self.put_on_stage(plan, at, attempt),
            Fact::AttemptUnstaged(attempt) => self.take_off_stage(plan, attempt),
            Fact::AttemptStarted(attempt) => self.begins(plan, at, attempt),
            Fact::AttemptEnded {
                attempt,
                how,
                class,
                outputs,
                artifacts,
                standing,
                ..
            } => {
                self.tried(plan, attempt, how, *class);
                self.counts.ended(how, self.took(plan, at, attempt));
                let (outputs, artifacts) = (outputs.clone(), artifacts.clone());
                self.work_ended(
                    plan,
                    attempt,
                    how,
                    Gave {
                        outputs,
                        artifacts,
                        cached: None,
                        standing: *standing,
                    },
                );
            }
            Fact::RetryScheduled {
                attempt,
                due,
                looped,
                ..
            } => {
                self.came_closer(plan, at, attempt);
                if let Some(spot) = self.vacate(plan, &attempt.place) {
                    self.looped(spot, *looped);
                    self.resting.insert(spot, *due);
                    self.show(spot, StepState::Waiting);
                }
            }
            Fact::EvidenceTaken { attempt, .. } => {
                self.evidence.extend(state::spot(plan, &attempt.place));
            }
            Fact::EvidenceStale(stale) => self.fall_back(plan, stale),
            Fact::StepEnded { place, .. } => self.place_ended(plan, at, place, fact),
            _ => {}
        }
    }

    /// How long an attempt has taken that is under way.
    fn took(&self, plan: &Plan, at: Moment, attempt: &Attempt) -> Duration {
        let live = state::spot(plan, &attempt.place).and_then(|spot| self.live.get(&spot));
        live.map_or(Duration::ZERO, |live| at.since(live.since))
    }

    fn awaits_lock(&mut self, plan: &Plan, place: &Place) {
        if let Some(spot) = self.leave_queue(plan, place) {
            self.locking.insert(spot);
            if let Some(slot) = self.place_mut(spot) {
                slot.awaits = true;
            }
        }
    }

    fn place_ended(&mut self, plan: &Plan, at: Moment, place: &Place, fact: &Fact) {
        let Fact::StepEnded {
            state,
            standing,
            class,
            tolerated,
            outputs,
            why,
            ..
        } = fact
        else {
            return;
        };
        let Some(spot) = self.vacate(plan, place) else {
            return;
        };
        if let Some(slot) = self.place_mut(spot) {
            slot.class = *class;
            // The controller looks at what a failure came to, and its next attempt is told.
            if plan.parts().replan.is_some() && *state == StepState::Failed {
                slot.failed_for_good(why);
            } else {
                slot.tries = None;
            }
            if spot.item.is_some() && slot.result.is_none() && !outputs.is_empty() {
                slot.result = Some(Box::new(Gave {
                    outputs: outputs.clone(),
                    ..Gave::default()
                }));
            }
        }
        let end = End {
            state: *state,
            standing: *standing,
            tolerated: *tolerated,
            at,
        };
        self.end(plan, spot, end, outputs);
    }

    fn begin(&mut self, plan: &Plan, at: Moment) {
        self.started = Some(at);
        let main = plan.parts().main.min(self.steps.len());
        let free = (0_u32..).zip(self.steps.iter().take(main));
        self.due = free
            .filter(|(_, slot)| slot.waiting == 0)
            .map(|(step, _)| step)
            .collect();
        for slot in self.steps.iter_mut().filter(|slot| slot.waiting == 0) {
            slot.ready = Some(at);
        }
    }

    fn keep(&mut self, plan: &Plan, step: &Name, outputs: &Object, end: End) {
        let Some(ix) = plan.find(step.as_str()) else {
            return;
        };
        let (step, item) = (ix.0, None);
        self.end(plan, Spot { step, item }, end, outputs);
        self.slot_mut(ix.0).outputs = Some(Box::new(outputs.clone()));
    }

    fn expand(&mut self, plan: &Plan, at: Moment, step: &Name, items: &[Item]) {
        let Some(ix) = plan.find(step.as_str()) else {
            return;
        };
        self.due.remove(&ix.0);
        let open = open_of(items);
        let room = plan.step(ix).max_parallel.unwrap_or(u32::MAX).min(open);
        let spot = |item| Spot {
            step: ix.0,
            item: Some(item),
        };
        let slot = |item| self.made.get(&spot(item)).cloned().unwrap_or_default();
        let slots = (0..open).map(slot).collect();
        let many = Many {
            items: items.to_vec(),
            slots,
            open,
            next: room,
        };
        let slot = self.slot_mut(ix.0);
        slot.many = Some(Box::new(many));
        slot.ready = Some(at);
        slot.state = StepState::Queued;
        for item in 0..room {
            self.enqueue(
                plan,
                Spot {
                    step: ix.0,
                    item: Some(item),
                },
            );
        }
    }

    /// Takes a place out of every list of places that wait.
    pub(super) fn leave_queue(&mut self, plan: &Plan, place: &Place) -> Option<Spot> {
        let spot = state::spot(plan, place)?;
        self.due.remove(&spot.step);
        self.queue.remove(&spot);
        self.roomless.remove(&spot);
        self.locking.remove(&spot);
        self.returning.remove(&spot);
        self.unheard.remove(&spot);
        self.resting.remove(&spot);
        Some(spot)
    }

    /// Takes a place out of every list of places.
    pub(super) fn vacate(&mut self, plan: &Plan, place: &Place) -> Option<Spot> {
        let spot = self.leave_queue(plan, place)?;
        self.free(spot);
        Some(spot)
    }

    /// Stops doing anything for a place.
    pub(super) fn free(&mut self, spot: Spot) {
        if let Some(live) = self.live.remove(&spot) {
            self.busy -= u32::from(live.room);
            self.counts.plain -= u32::from(live.room && live.plain);
            self.counts.staged -= u32::from(live.doing == Doing::Staged);
        }
    }

    /// Begins doing something for a place.
    pub(super) fn engage(&mut self, spot: Spot, live: Live) {
        self.free(spot);
        self.busy += u32::from(live.room);
        self.counts.plain += u32::from(live.room && live.plain);
        self.counts.staged += u32::from(live.doing == Doing::Staged);
        self.live.insert(spot, live);
    }

    pub(super) fn occupy(&mut self, plan: &Plan, at: Moment, attempt: &Attempt, doing: Doing) {
        let Some(spot) = self.leave_queue(plan, &attempt.place) else {
            return;
        };
        let room = doing != Doing::Working || takes_room(plan, spot);
        self.engage(
            spot,
            Live {
                attempt: attempt.attempt,
                since: at,
                doing,
                room,
                plain: doing == Doing::Working && is_plain(plan, spot.ix()),
            },
        );
        if plan.step(spot.ix()).concurrency.is_some() {
            self.locked.insert(spot);
        }
        self.evidence.remove(&spot);
        if let Some(slot) = self.place_mut(spot) {
            slot.attempts = attempt.attempt;
            slot.awaits = false;
            slot.asked_anew();
            // What an attempt before this one gave was not confirmed.
            slot.result = None;
        }
        self.show(spot, StepState::Running);
    }

    fn work_ended(&mut self, plan: &Plan, attempt: &Attempt, how: &Exit, gave: Gave) {
        let Some(spot) = state::spot(plan, &attempt.place) else {
            return;
        };
        if how.is_success() {
            self.give(plan, &attempt.place, gave);
            if let Some(live) = self.live.get_mut(&spot) {
                live.doing = after_work(plan, attempt);
            }
            self.show(spot, StepState::Verifying);
        } else {
            self.free(spot);
        }
    }

    fn give(&mut self, plan: &Plan, place: &Place, gave: Gave) {
        if let Some(slot) = state::spot(plan, place).and_then(|spot| self.place_mut(spot)) {
            slot.result = Some(Box::new(gave));
        }
    }

    fn judge(&mut self, verdict: &Verdict) {
        let held = self.judged.unwrap_or(true) && verdict.passed();
        self.judged = Some(held);
        if !verdict.passed() {
            self.refuted.push(verdict.name.to_string());
        }
    }

    /// Shows what a step does; of a repeated step, that something does.
    pub(super) fn show(&mut self, spot: Spot, state: StepState) {
        let slot = self.slot_mut(spot.step);
        slot.state = if spot.item.is_some() {
            StepState::Running
        } else {
            state
        };
    }

    fn enter(&mut self, plan: &Plan, at: Moment, phase: Phase) {
        self.phase = phase;
        if phase == Phase::Verify {
            self.passed = None;
            self.control.opened = true;
        }
        self.next_finally(plan.parts().main, at);
    }

    /// Lets the first `finally` step from a place on be considered that was not kept, once their
    /// time has come.
    pub(super) fn next_finally(&mut self, from: usize, at: Moment) {
        let rest = self.steps.iter().skip(from);
        let open = rest.take_while(|slot| slot.state.is_final()).count() + from;
        if self.phase == Phase::Finally && open < self.steps.len() {
            self.becomes_due(u32::try_from(open).unwrap_or(u32::MAX), at);
        }
    }
}

impl Gave {
    fn cached(found: &Cached) -> Self {
        Self {
            outputs: found.outputs.clone(),
            artifacts: found.artifacts.clone(),
            cached: Some(found.key),
            standing: None,
        }
    }
}

fn open_of(items: &[Item]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

/// What comes after the work of an attempt: its gates, if it has any, else its checks.
fn after_work(plan: &Plan, attempt: &Attempt) -> Doing {
    let spot = state::spot(plan, &attempt.place);
    if spot.is_some_and(|spot| has_gates(plan, Some(spot), GatePoint::Leave)) {
        Doing::Leaving
    } else {
        Doing::Checking
    }
}

/// Whether the work of a step takes up room: waiting, for whatever it is, takes none.
pub(super) fn takes_room(plan: &Plan, spot: Spot) -> bool {
    !matches!(plan.step(spot.ix()).work, Work::Wait(_) | Work::Approve(_))
}
