//! What a run takes over from another that it repeats.

use wf_core::machine::{DeselectedStep, Event, ReusedResult, StepState, TaskId};

use super::dice::Dice;
use super::world::World;

impl World {
    /// What a run takes over from the run that it repeats.
    pub fn kept(&mut self, at: usize) -> Vec<ReusedResult> {
        let Some(from) = self.runs[at].after.map(|from| &self.runs[from]) else {
            return Vec::new();
        };
        let mut dice = Dice::of(self.options.seed, "kept");
        let mut kept = Vec::new();
        for (place, book) in &from.durable.places {
            let Some(end) = &book.ended else { continue };
            if end.state != StepState::Succeeded || dice.one_in(3) {
                continue;
            }
            let key = place.item.and_then(|item| key_of(&from.log, place, item));
            if place.item.is_some() && key.is_none() {
                continue;
            }
            let (step, outputs, standing) = (place.step.clone(), end.outputs.clone(), end.standing);
            kept.push(ReusedResult { step, item: key, outputs, standing, from: from.id.clone() });
        }
        kept
    }

    /// What a run that repeats another leaves out.
    pub fn left(&mut self, at: usize) -> Vec<DeselectedStep> {
        let run = &self.runs[at];
        let mut dice = Dice::of(self.options.seed, "left");
        let steps = run.plan.steps().iter().filter(|_| run.after.is_some());
        let left = steps.filter_map(|step| {
            let but = dice.one_in(2).then(|| "0".to_owned());
            dice.one_in(8)
                .then(|| DeselectedStep { step: step.id.clone(), except_items: but.into_iter().collect() })
        });
        left.collect()
    }
}

/// The key of an item, as it was told.
fn key_of(log: &[Event], place: &TaskId, item: u32) -> Option<String> {
    log.iter().find_map(|event| match &event.fact {
        wf_core::machine::EventKind::StepExpanded { step, items } if *step == place.step => {
            Some(items.get(item as usize)?.key.clone())
        }
        _ => None,
    })
}
