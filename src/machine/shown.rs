//! What a round showed about the ways that steps were done in: what memory is made of.

use serde::{Deserialize, Serialize};

use super::measure::Measured;
use super::{Blame, Machine, StepState};
use crate::ggs::Directive;
use crate::model::StepIx;
use crate::name::Name;

/// A way that a step was done in, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Way {
    /// The step.
    pub step: Name,
    /// The alternative; absent: the step as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Name>,
    /// What did the work.
    pub tool: String,
    /// What it was done on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whose fault it is that it failed; absent: it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Blame>,
    /// The sort of change that led to it; absent: the step began so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Directive>,
}

impl Machine {
    /// What a round showed: the ways of the steps that failed; and, where the run is accepted,
    /// those that hold and are not as they are written.
    pub(super) fn showed(&self, measured: &Measured, directive: Directive) -> Vec<Way> {
        // What never began shows nothing of its way.
        let begun = |step: u32| self.begun_anew(step);
        let failing = measured.failing.iter().filter(|(step, _)| begun(*step));
        let failing = failing.map(|(step, logical)| {
            let blame = if *logical {
                Blame::Logical
            } else {
                Blame::Environmental
            };
            self.way_of(*step, Some(blame))
        });
        let accepted = matches!(directive, Directive::Accept | Directive::Success);
        let others = self.state.control.ways.iter();
        let others = others.filter(|(step, way)| {
            let held = self.state.slot(**step).state == StepState::Succeeded;
            accepted && **way > 0 && held && begun(**step)
        });
        failing
            .chain(others.map(|(step, _)| self.way_of(*step, None)))
            .collect()
    }

    /// Whether an attempt of a step was begun in this round, or ever, if it was left as it is.
    fn begun_anew(&self, step: u32) -> bool {
        let slot = self.state.slot(step);
        let many = slot.many.as_ref().map_or(&[][..], |many| &many.slots);
        let mut places = std::iter::once(&slot.once).chain(many);
        places.any(|place| place.made() > 0)
    }

    fn way_of(&self, step: u32, failed: Option<Blame>) -> Way {
        let written = self.base.step(StepIx(step));
        let way = self.state.control.way(step) as usize;
        Way {
            step: written.id.clone(),
            way: written.way_id(way).cloned(),
            tool: written.tool(way),
            target: written.target(way).map(str::to_owned),
            failed,
            kind: self.state.control.kinds.get(&step).copied(),
        }
    }
}
