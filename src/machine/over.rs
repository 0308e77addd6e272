//! The end of a run.

use super::scope::View;
use super::state::{self, State};
use super::{Effect, Fact, Machine, Outcome, Stale, Standing};
use crate::model::{Object, StepIx};

impl State {
    /// Whether a check found otherwise than a step that has ended.
    fn has_refuted(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.standing == Standing::Refuted)
    }
}

impl Machine {
    /// Ends the run.
    pub(super) fn end_run(&mut self) {
        let (outputs, broken) = self.plan_outputs();
        let outputs = self.state.published.clone().unwrap_or(outputs);
        let (outcome, mut why) = self.verdict(broken);
        if outcome == Outcome::Succeeded {
            why = self.unchecked_by_word().unwrap_or_default();
        }
        let failed = self
            .state
            .failed
            .map(|step| self.plan.step(StepIx(step)).id.clone());
        let tally = self.state.tally;
        let checked = self.state.judged;
        let standing = match outcome {
            // What is no longer what was checked is not proved, whatever else was.
            Outcome::Succeeded if !self.state.stale.is_empty() => Standing::Reported,
            // Nor is what a check found otherwise, though it was allowed to fail.
            Outcome::Succeeded if self.state.has_refuted() => Standing::Reported,
            // Nor is what a worker kept from being checked.
            Outcome::Succeeded if !why.is_empty() => Standing::Reported,
            // What does not hold in full is not proved.
            Outcome::Succeeded if self.state.control.accepted.is_some() => Standing::Reported,
            Outcome::Succeeded if checked == Some(true) => Standing::Verified,
            // What was left out by choice was not proved.
            Outcome::Succeeded if !self.state.left.is_empty() => Standing::Reported,
            Outcome::Succeeded if tally.reported == 0 && tally.verified > 0 => Standing::Verified,
            Outcome::Succeeded => Standing::Reported,
            _ if checked == Some(false) => Standing::Refuted,
            _ => Standing::Unchecked,
        };
        let stale = self.state.stale.iter().map(|(spot, path)| Stale {
            place: state::place(&self.plan, *spot),
            path: path.clone(),
        });
        let stale = stale.collect();
        let accepted = self.state.control.accepted;
        let outputs = if outcome == Outcome::Succeeded {
            outputs
        } else {
            Object::new()
        };
        self.emit(Fact::RunEnded {
            outcome,
            why,
            failed,
            standing,
            tally,
            stale,
            outputs: outputs.clone(),
            accepted: accepted.filter(|_| outcome == Outcome::Succeeded),
        });
        self.turn.effects.push(Effect::Finish { outputs });
    }

    fn verdict(&self, broken: Option<String>) -> (Outcome, String) {
        let state = &self.state;
        if let Some(cancelled) = &state.cancelled {
            return (Outcome::Cancelled, cancelled.why.clone());
        }
        if state.timed_out {
            return (Outcome::Failed, self.ending_why());
        }
        if let Some(why) = &state.control.abandoned {
            return (Outcome::Abandoned, why.clone());
        }
        if let Some(why) = self.spent_why() {
            return (Outcome::Failed, why);
        }
        let accepted = state.control.accepted.is_some();
        if let Some(step) = state.failed {
            return (
                Outcome::Failed,
                format!("step `{}` failed", self.plan.step(StepIx(step)).id),
            );
        }
        if let Some(why) = &state.blocked {
            return (Outcome::Failed, why.clone());
        }
        if state.judged == Some(false) && !accepted {
            return (
                Outcome::Failed,
                format!(
                    "the plan's criteria do not hold: {}",
                    state.refuted.join(", ")
                ),
            );
        }
        match broken {
            Some(why) => (Outcome::Failed, why),
            None => (Outcome::Succeeded, String::new()),
        }
    }

    /// The plan's outputs, and what is wrong with them.
    pub(super) fn plan_outputs(&self) -> (Object, Option<String>) {
        let mut outputs = Object::new();
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: None,
        };
        for output in &self.plan.parts().outputs {
            let value = match output.value.value(&view) {
                Ok(value) => value,
                Err(error) => return (outputs, Some(format!("output `{}`: {error}", output.name))),
            };
            if let Some(mistake) = output.schema.mistake(&value) {
                return (
                    outputs,
                    Some(format!("output `{}`: {mistake}", output.name)),
                );
            }
            outputs.insert(output.name.to_string(), value);
        }
        (outputs, None)
    }
}
