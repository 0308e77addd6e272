//! What gates and open questions do to the state.

use super::state::{self, Asked, Doing, Live, Spot, State};
use super::{Ask, Attempt, Decision, Fact, GatePoint, Place, StepState};
use crate::model::{EscalationAction, Object, Plan};
use crate::time::Moment;

impl State {
    /// Takes a fact about gates or about a decision into account.
    pub(super) fn apply_held(&mut self, plan: &Plan, at: Moment, fact: &Fact) {
        match fact {
            Fact::GatesPassed {
                place,
                point,
                rewritten,
            } => self.passed(plan, place.as_ref(), *point, rewritten),
            Fact::Escalated { place, action, .. } => {
                let again = matches!(
                    action,
                    EscalationAction::Retry | EscalationAction::SuppressAndRephrase
                );
                if again {
                    self.gated_again(plan, place.as_ref(), fact);
                }
            }
            Fact::ApprovalAsked(ask) => self.ask(plan, at, ask),
            Fact::ApprovalAnswered { number, given, .. } => {
                self.answered(plan, *number, given.decision);
            }
            Fact::RunBlocked { why, .. } => self.blocked = Some(why.clone()),
            _ => {}
        }
    }

    /// Lets an attempt begin: its gates have let just this one.
    pub(super) fn begins(&mut self, plan: &Plan, at: Moment, attempt: &Attempt) {
        self.occupy(plan, at, attempt, Doing::Working);
        let spot = state::spot(plan, &attempt.place);
        if let Some(slot) = spot.and_then(|spot| self.place_mut(spot)) {
            slot.admitted = false;
        }
    }

    fn passed(&mut self, plan: &Plan, place: Option<&Place>, point: GatePoint, new: &Object) {
        let Some(place) = place else {
            if let (GatePoint::Start, Some(params)) = (point, object(new, "message")) {
                self.params = params;
            }
            if let (GatePoint::Publish, Some(outputs)) = (point, object(new, "response")) {
                self.published = Some(outputs);
            }
            self.gate_tries = 0;
            return;
        };
        let Some(spot) = state::spot(plan, place) else {
            return;
        };
        match point {
            GatePoint::Enter | GatePoint::Again => {
                self.vacate(plan, place);
                if let Some(slot) = self.place_mut(spot) {
                    // What was tried again after an attempt goes on counting.
                    if point == GatePoint::Enter {
                        slot.gate_tries = 0;
                    }
                    (slot.entered, slot.admitted) = (true, true);
                    slot.tool_args = new.get("tool_args").cloned();
                }
                self.show(spot, StepState::Queued);
                self.enqueue(plan, spot);
            }
            GatePoint::Leave => {
                if let (Some(gave), Some(outputs)) = (
                    self.place_mut(spot).and_then(|slot| slot.result.as_mut()),
                    object(new, "response"),
                ) {
                    gave.outputs = outputs;
                }
                self.goes_on_with(spot, Doing::Checking);
                self.show(spot, StepState::Verifying);
            }
            GatePoint::Start | GatePoint::Publish => {}
        }
    }

    /// Lets what is done for a place become something else, in the room that it has.
    fn goes_on_with(&mut self, spot: Spot, doing: Doing) {
        if let Some(live) = self.live.get_mut(&spot) {
            live.doing = doing;
        }
    }

    fn gated_again(&mut self, plan: &Plan, place: Option<&Place>, fact: &Fact) {
        let Fact::Escalated { gate, message, .. } = fact else {
            return;
        };
        let Some(place) = place else {
            self.gate_tries += 1;
            return;
        };
        let slot = state::spot(plan, place).and_then(|spot| self.place_mut(spot));
        if let Some(slot) = slot {
            slot.gate_tries += 1;
            slot.told_by_gate(gate, message);
        }
    }

    /// What waited for people is where it was before they were asked.
    fn answered(&mut self, plan: &Plan, number: u32, decision: Decision) {
        let Some(Asked { ask, spot }) = self.asks.remove(&number) else {
            return;
        };
        let Some(spot) = spot else { return };
        if ask.phase.is_some() {
            let slot = self.place_mut(spot);
            if let Some(slot) = slot.filter(|_| decision == Decision::Approved) {
                slot.ignores();
            }
            return self.goes_on_with(spot, Doing::Checking);
        }
        match ask.point {
            Some(GatePoint::Enter | GatePoint::Again) => {
                self.free(spot);
                self.enqueue(plan, spot);
            }
            Some(_) => self.goes_on_with(spot, Doing::Leaving),
            None => self.goes_on_with(spot, Doing::Working),
        }
    }

    fn ask(&mut self, plan: &Plan, at: Moment, ask: &Ask) {
        self.asked = ask.number;
        let spot = ask
            .place
            .as_ref()
            .and_then(|place| state::spot(plan, place));
        let asked = Asked {
            ask: ask.clone(),
            spot,
        };
        self.asks.insert(ask.number, asked);
        let Some(spot) = spot else { return };
        if matches!(ask.point, Some(GatePoint::Enter | GatePoint::Again)) {
            if let Some(place) = &ask.place {
                self.leave_queue(plan, place);
            }
            let live = Live {
                attempt: 0,
                since: at,
                doing: Doing::Asking,
                room: false,
                plain: false,
            };
            self.engage(spot, live);
        } else {
            self.goes_on_with(spot, Doing::Asking);
        }
        self.show(spot, StepState::Waiting);
    }
}

/// An object among what was rewritten.
fn object(rewritten: &Object, key: &str) -> Option<Object> {
    rewritten.get(key)?.as_object().cloned()
}
