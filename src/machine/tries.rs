//! What the attempts of a place came to, as long as it has not ended: what a correction is made of.

use serde::{Deserialize, Serialize};

use super::correction::{Gap, Unmet};
use super::state::{self, ItemSlot, State};
use super::{Attempt, Exit, Loop, Verdict};
use crate::model::{Class, Plan};
use crate::name::GateId;

/// What the attempts of a place came to so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tries {
    /// The last attempt that ended.
    pub(super) attempt: u32,
    /// Whose fault it is that it failed.
    pub(super) class: Option<Class>,
    /// How its work ended, if that was not well.
    pub(super) exit: Option<String>,
    /// The criteria that it failed.
    pub(super) failed: Vec<Unmet>,
    /// What a gate said of it, if one wants it otherwise, and what it is to do.
    pub(super) gate: Option<(String, String)>,
    /// Which loop the next attempt is, or the one under way.
    pub(super) looped: Option<Loop>,
    /// The gaps of all that were judged.
    pub(super) gaps: Vec<Gap>,
}

impl State {
    /// Notes how the work of an attempt ended.
    pub(super) fn tried(
        &mut self,
        plan: &Plan,
        attempt: &Attempt,
        how: &Exit,
        class: Option<Class>,
    ) {
        let slot = state::spot(plan, &attempt.place).and_then(|spot| self.place_mut(spot));
        let Some(slot) = slot else { return };
        // Of what worked at once there is nothing to tell.
        if how.is_success() && slot.tries.is_none() {
            return;
        }
        let tries = slot.tries.get_or_insert_default();
        let gaps = std::mem::take(&mut tries.gaps);
        let exit = (!how.is_success()).then(|| how.to_string());
        **tries = Tries {
            attempt: attempt.attempt,
            class,
            exit,
            failed: Vec::new(),
            gate: None,
            looped: None,
            gaps,
        };
    }

    /// Notes what a check ruled on an attempt.
    pub(super) fn ruled(&mut self, plan: &Plan, attempt: &Attempt, verdict: &Verdict) {
        let slot = state::spot(plan, &attempt.place).and_then(|spot| self.place_mut(spot));
        let Some(slot) = slot else { return };
        slot.tries
            .get_or_insert_default()
            .rule(attempt.attempt, verdict);
    }
}

impl ItemSlot {
    /// Notes why the place failed, if its attempts do not say it: a gate blocked it, say.
    pub(super) fn failed_for_good(&mut self, why: &str) {
        if self.tries.is_none() && self.made() > 0 {
            self.tries = Some(Box::new(Tries {
                attempt: self.attempts,
                class: self.class,
                exit: Some(why.to_owned()),
                ..Tries::default()
            }));
        }
    }

    /// Notes that a gate wants an attempt to be made again, and how.
    pub(super) fn told_by_gate(&mut self, gate: &GateId, todo: &str) {
        let attempt = self.attempts;
        // Before the first attempt there is nothing to be done otherwise.
        if self.made() == 0 && self.result.is_none() {
            return;
        }
        let tries = self.tries.get_or_insert_default();
        tries.attempt = attempt;
        tries.gate = Some((gate.to_string(), todo.to_owned()));
    }
}

impl Tries {
    fn rule(&mut self, attempt: u32, verdict: &Verdict) {
        self.attempt = attempt;
        Gap::count(&mut self.gaps, attempt, verdict.passed());
        if !verdict.passed() {
            if self.failed.is_empty() {
                self.class = verdict.class;
            }
            self.failed.push(verdict.into());
        }
    }
}
