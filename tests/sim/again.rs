//! What a run takes over from another that it repeats.

use wf_core::machine::{Artifact, DeselectedStep, Event, EventKind, ReusedResult, StepState, TaskId};

use super::{
    dice::Dice,
    evidence::file as file_of,
    ledger::{Book, End, Ledger},
    world::World,
};

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
            // A repeated step has one file here, where each of its items had one.
            let of_item =
                |(other, book): (&TaskId, &Book)| other.step == place.step && book.evidence.is_some();
            let has_items = place.item.is_none() && from.durable.places.iter().any(of_item);
            let file = book.evidence.or_else(|| has_items.then(|| from.content(place)));
            let file = file.filter(|_| end.standing.is_checked());
            let file =
                file.map(|digest| Artifact { path: file_of(place), digest, size: 1, released_by: None });
            kept.push(ReusedResult {
                step: place.step.clone(),
                item: key,
                item_digest: None,
                outputs: end.outputs.clone(),
                standing: end.standing,
                from: from.id.clone(),
                evidence: file.into_iter().collect(),
            });
        }
        kept
    }

    /// Puts the files there that the run which is repeated left.
    pub fn take_files(&mut self, at: usize, kept: &[ReusedResult]) {
        let Some(from) = self.runs[at].after else {
            return;
        };
        let mut files = self.runs[from].files.clone();
        for kept in kept.iter().filter(|kept| kept.item.is_none() && !kept.evidence.is_empty()) {
            files.entry(TaskId::of_step(&kept.step)).or_default();
        }
        self.runs[at].files = files;
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

impl Ledger {
    /// Takes into account a result that is taken over.
    pub(super) fn reuse(&mut self, fact: &EventKind) {
        match fact {
            EventKind::StepReused { step, outputs, standing, evidence, .. } => {
                let book = self.at(&TaskId::of_step(step));
                book.kept = true;
                book.evidence = evidence.first().map(|file| file.digest);
                book.ended = Some(End {
                    state: StepState::Succeeded,
                    standing: *standing,
                    allowed_to_fail: false,
                    outputs: outputs.clone(),
                });
            }
            EventKind::ItemReused(item) => {
                let evidence = item.evidence.first().map(|file| file.digest);
                self.kept.insert((item.step.clone(), item.item_key.clone()), evidence);
            }
            _ => {}
        }
    }
}

/// The key of an item, as it was told.
fn key_of(log: &[Event], task_id: &TaskId, item: u32) -> Option<String> {
    log.iter().find_map(|event| match &event.fact {
        EventKind::StepExpanded { step, items } if *step == task_id.step => {
            Some(items.get(item as usize)?.key.clone())
        }
        _ => None,
    })
}
