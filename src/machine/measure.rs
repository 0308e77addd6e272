//! How far a round is from what was asked, and whose fault that is: what the solver is given
//! (artoo v0.8, D and P).

use std::time::Duration;

use super::scope::{self, View};
use super::state::{ItemSlot, Spot, StepSlot};
use super::{Blame, Criteria, Machine, StepState};
use crate::ggs::{self, Measures};
use crate::model::{Check, Class, Fan, Replan, Step, StepIx};
use crate::name::Name;

/// What a round came to.
#[derive(Default)]
pub(super) struct Measured {
    /// The weight of the criteria that do not hold.
    weight: f64,
    /// How many criteria there are, and how many do not hold.
    of: u32,
    unmet: u32,
    logical: u32,
    environmental: u32,
    /// The first that does not hold.
    pub(super) first: Option<String>,
    /// The steps that failed, and whether the approach did.
    pub(super) failing: Vec<(u32, bool)>,
    /// The steps that were not reached.
    pub(super) unreached: Vec<u32>,
}

impl Measured {
    fn miss(&mut self, weight: f64, count: u32, name: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        self.weight += weight;
        self.unmet += count;
        if self.first.is_none() {
            self.first = Some(name());
        }
    }

    fn blame(&mut self, class: Option<Class>) {
        match class {
            Some(Class::Logical) => self.logical += 1,
            Some(Class::Environmental | Class::Interrupted) => self.environmental += 1,
            None => {}
        }
    }

    /// What the solver is given.
    pub(super) fn measures(&self, replan: &Replan, replans: u32, elapsed: Duration) -> Measures {
        Measures {
            d: ggs::distance(self.weight, self.of),
            p: ggs::process(self.logical, self.environmental),
            omega: ggs::resource(replan, replans, elapsed),
        }
    }

    /// How many criteria hold.
    pub(super) fn criteria(&self) -> Criteria {
        Criteria {
            met: self.of.saturating_sub(self.unmet),
            of: self.of,
        }
    }

    /// Whose fault what failed is.
    pub(super) fn class(&self) -> Option<Blame> {
        Blame::of(self.logical, self.environmental)
    }
}

impl Machine {
    /// Measures the round that has ended. Criteria of steps that were not reached do not hold,
    /// and are nobody's fault; what is skipped by rule, or whose failure is tolerated, does not
    /// count, and neither do the plan's own criteria before they were asked once.
    ///
    /// **Invariant:** it follows from how places ended and what was ruled on them, never from the
    /// order in which that came to be.
    pub(super) fn measure(&self) -> Measured {
        let mut measured = Measured::default();
        let mut excused = vec![false; self.state.steps.len()];
        for ix in self.plan.order() {
            if self.plan.is_finally(ix) {
                continue;
            }
            let slot = self.state.slot(ix.0);
            let mut needs = self.plan.step(ix).depends_on.iter();
            let hangs = needs.any(|need| excused.get(need.at()) == Some(&true));
            let inherited = hangs && !self.asks_status(ix.0);
            let excuses = inherited || self.skipped_by_rule(ix);
            if slot.state == StepState::Skipped && excuses {
                if let Some(excused) = excused.get_mut(ix.at()) {
                    *excused = true;
                }
            } else if !slot.tolerated {
                self.measure_step(ix, slot, &mut measured);
            }
        }
        self.measure_plan(&mut measured);
        measured
    }

    /// Whether a step was skipped because of what it says, or of what somebody chose.
    fn skipped_by_rule(&self, ix: StepIx) -> bool {
        let slot = self.state.slot(ix.0);
        if self.state.left.get(&ix.0).is_some_and(Vec::is_empty) {
            return true;
        }
        let Some(when) = &self.plan.step(ix).when else {
            return false;
        };
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: Some(Spot {
                step: ix.0,
                item: None,
            }),
        };
        slot.waiting == 0 && matches!(scope::holds(&view, when), Ok(false))
    }

    fn measure_step(&self, ix: StepIx, slot: &StepSlot, measured: &mut Measured) {
        let step = self.plan.step(ix);
        let each = u32::try_from(step.verify.len()).unwrap_or(u32::MAX).max(1);
        let Some(places) = self.places(ix, slot) else {
            // It was not reached.
            let missing = each.saturating_mul(self.expected(ix));
            measured.of += missing;
            measured.unreached.push(ix.0);
            let name = || format!("{}: not reached", step.id);
            return measured.miss(f64::from(missing), missing, name);
        };
        let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
        measured.of += each.saturating_mul(count.max(1));
        if slot.state == StepState::Failed {
            let mut logical = false;
            for place in places {
                logical |= self.measure_place((ix, step), (place, slot), each, measured);
            }
            measured.failing.push((ix.0, logical));
        }
    }

    /// The places of a step that was reached, those aside that somebody chose to leave out.
    fn places<'a>(&'a self, ix: StepIx, slot: &'a StepSlot) -> Option<Vec<&'a ItemSlot>> {
        let Some(many) = &slot.many else {
            let reached = matches!(slot.state, StepState::Succeeded | StepState::Failed);
            return reached.then(|| vec![&slot.once]);
        };
        let all = many.items.iter().zip(&many.slots);
        let chosen = all.filter(|(item, _)| !self.state.is_left(ix.0, &item.key));
        let chosen: Vec<&ItemSlot> = chosen.map(|(_, place)| place).collect();
        let well = |place: &&ItemSlot| place.ended == Some(StepState::Succeeded);
        let reached = match slot.state {
            StepState::Succeeded | StepState::Failed => true,
            // Items were left out, and all others hold.
            StepState::Skipped => chosen.iter().all(well),
            _ => false,
        };
        reached.then_some(chosen)
    }

    /// How many places a step has that was not reached, as far as that is known.
    fn expected(&self, ix: StepIx) -> u32 {
        let count = match &self.plan.step(ix).fan {
            Fan::List(items) => items.len(),
            Fan::Matrix(rows) => rows.len(),
            Fan::Once | Fan::Each(_) => 1,
        };
        let chosen = self.state.left.get(&ix.0).map(Vec::len);
        let count = chosen.map_or(count, |chosen| count.min(chosen));
        u32::try_from(count).unwrap_or(u32::MAX).max(1)
    }

    /// Measures a place of a step that failed; whether its approach failed.
    fn measure_place(
        &self,
        (ix, step): (StepIx, &Step),
        (place, slot): (&ItemSlot, &StepSlot),
        each: u32,
        measured: &mut Measured,
    ) -> bool {
        let ended = if slot.many.is_some() {
            place.ended
        } else {
            Some(slot.state)
        };
        match ended {
            Some(StepState::Succeeded) => return false,
            Some(StepState::Failed) => {}
            // An item that did not come to its turn.
            _ => {
                measured.miss(f64::from(each), each, || {
                    format!("{}: not reached", step.id)
                });
                return false;
            }
        }
        let unmet = place.own_tries().map(|tries| tries.failed.as_slice());
        let Some(unmet) = unmet.filter(|unmet| !unmet.is_empty()) else {
            // The work itself failed: none of its criteria was looked at.
            let name = || format!("{}: the work", step.id);
            measured.miss(f64::from(each), each, name);
            measured.blame(place.class);
            return place.class.is_none_or(super::round::is_logical);
        };
        let failed = |check: &&Check| unmet.iter().any(|one| one.criterion == check.name);
        let unasked = unasked(&step.verify, step.verify.iter().filter(failed));
        let mut logical = false;
        for one in unmet {
            let weight = self.state.control.weight(Some(ix.0), &one.criterion);
            measured.miss(weight, 1, || format!("{}: {}", step.id, one.criterion));
            measured.blame(one.class);
            logical |= one.class.is_none_or(super::round::is_logical);
        }
        measured.miss(f64::from(unasked), unasked, || {
            format!("{}: not reached", step.id)
        });
        logical
    }

    /// Whether the plan has criteria of its own that were not asked in this round.
    pub(super) fn is_unasked(&self) -> bool {
        !self.plan.parts().verify.is_empty() && self.state.judged.is_none()
    }

    fn measure_plan(&self, measured: &mut Measured) {
        let criteria = &self.plan.parts().verify;
        if !self.state.control.opened {
            return;
        }
        measured.of += u32::try_from(criteria.len()).unwrap_or(u32::MAX);
        if self.state.judged.is_none() {
            let missing = u32::try_from(criteria.len()).unwrap_or(u32::MAX);
            if let Some(first) = criteria.first() {
                let name = || format!("plan: {}", first.name);
                measured.miss(f64::from(missing), missing, name);
            }
            return;
        }
        let refuted: &[(Name, Option<Class>)] = &self.state.control.refuted;
        let failed = |check: &&Check| refuted.iter().any(|(name, _)| *name == check.name);
        let later = unasked(criteria, criteria.iter().filter(failed));
        for (name, class) in refuted {
            let weight = self.state.control.weight(None, name);
            measured.miss(weight, 1, || format!("plan: {name}"));
            measured.blame(*class);
        }
        measured.miss(f64::from(later), later, || "plan: not reached".into());
    }
}

/// How many criteria nobody asked, because an earlier phase did not hold: they do not hold, and
/// are nobody's fault.
fn unasked<'a>(all: &[Check], failed: impl Iterator<Item = &'a Check>) -> u32 {
    let Some(phase) = failed.map(|check| check.phase).max() else {
        return 0;
    };
    let later = all.iter().filter(|check| check.phase > phase).count();
    u32::try_from(later).unwrap_or(u32::MAX)
}
