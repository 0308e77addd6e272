//! Evidence that is looked at once more: before a run ends, and whenever the world says that a
//! file has changed.

use super::state::{self, Spot, State};
use super::{Artifact, Attempt, Effect, Fact, Machine, Phase, Place, Stale, Standing, StepState};
use crate::model::Plan;

impl Machine {
    /// Records the files that a result was checked with, if there are any.
    pub(super) fn take_evidence(&mut self, attempt: &Attempt, files: Vec<Artifact>) {
        if !files.is_empty() {
            let attempt = attempt.clone();
            self.emit(Fact::EvidenceTaken { attempt, files });
        }
    }

    /// Ends the run; before that, asks whether the evidence of what is verified is still fresh.
    pub(super) fn conclude(&mut self) {
        if self.state.forced() || self.state.fresh().next().is_none() {
            return self.end_run();
        }
        self.emit(Fact::PhaseEntered {
            phase: Phase::Confirm,
        });
        self.ask_confirmation();
    }

    /// Asks once more, after a resume; all of it may have gone stale in the meantime.
    pub(super) fn resume_confirmation(&mut self) {
        if self.state.fresh().next().is_none() {
            self.end_run();
        } else {
            self.ask_confirmation();
        }
    }

    /// Asks whether evidence is still fresh.
    fn ask_confirmation(&mut self) {
        let spots = self.state.fresh();
        let places: Vec<Place> = spots.map(|spot| state::place(&self.plan, spot)).collect();
        self.turn.effects.push(Effect::Confirm { places });
    }

    /// Takes the answer in, and ends the run.
    pub(super) fn confirmed(&mut self, stale: Vec<Stale>) {
        if self.state.phase == Phase::Confirm {
            for stale in stale {
                self.stale(stale);
            }
            self.end_run();
        }
    }

    /// Takes in that a file of a place's evidence changed. Told of what is not verified, of what
    /// nobody knows, or twice, it changes nothing.
    pub(super) fn stale(&mut self, stale: Stale) {
        let spot = self.spot(&stale.place);
        if spot.is_some_and(|spot| self.state.is_verified(spot)) {
            self.emit(Fact::EvidenceStale(stale));
        }
    }
}

impl State {
    /// The places whose evidence is still believed, in the order of the plan.
    pub(super) fn fresh(&self) -> impl Iterator<Item = Spot> + '_ {
        let spots = self.evidence.iter().copied();
        spots.filter(|spot| self.is_verified(*spot))
    }

    /// Whether a place ended verified, and nothing has shaken that.
    pub(super) fn is_verified(&self, spot: Spot) -> bool {
        let slot = self.slot(spot.step);
        match (spot.item, &slot.many) {
            (None, None) => {
                slot.state == StepState::Succeeded && slot.standing == Standing::Verified
            }
            (Some(item), Some(many)) => many.slots.get(item as usize).is_some_and(|slot| {
                slot.ended == Some(StepState::Succeeded) && slot.standing == Standing::Verified
            }),
            _ => false,
        }
    }

    /// Lets a place, and the repeated step that it is an item of, fall back to the worker's word.
    pub(super) fn fall_back(&mut self, plan: &Plan, stale: &Stale) {
        let Some(spot) = state::spot(plan, &stale.place) else {
            return;
        };
        if !self.is_verified(spot) {
            return;
        }
        self.stale.insert(spot, stale.path.clone());
        if spot.item.is_some()
            && let Some(slot) = self.place_mut(spot)
        {
            slot.standing = Standing::Reported;
        }
        let slot = self.slot_mut(spot.step);
        if slot.state == StepState::Succeeded && slot.standing == Standing::Verified {
            slot.standing = Standing::Reported;
            self.tally.verified = self.tally.verified.saturating_sub(1);
            self.tally.reported += 1;
        }
    }
}
