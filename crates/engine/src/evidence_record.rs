use std::collections::BTreeMap;

use wf_base::name::Name;
use wf_core::machine::{Artifact, Event, EventKind, ReusedItem, StepItem, TaskId};

/// The files that tasks were checked with, as recorded: those of the last attempt of each, or of the run that its
/// result was reused from.
#[derive(Clone, Debug, Default)]
pub(super) struct EvidenceRecord {
    tasks: BTreeMap<TaskId, Vec<Artifact>>,
    /// The files of reused items, by step and key, for when the items are known.
    items: BTreeMap<(Name, String), Vec<Artifact>>,
}

impl EvidenceRecord {
    /// Returns the record of a run.
    pub(super) fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut record = Self::default();
        events.into_iter().for_each(|event| record.apply(&event.fact));
        record
    }

    /// Applies a fact.
    pub(super) fn apply(&mut self, fact: &EventKind) {
        match fact {
            EventKind::EvidenceTaken { attempt, files } => self.set(&attempt.place, files),
            EventKind::StepReused { step, evidence, .. } if !evidence.is_empty() => {
                self.set(&TaskId::of_step(step), evidence);
            }
            EventKind::ItemReused(ReusedItem { step, item_key, evidence, .. }) if !evidence.is_empty() => {
                self.items.insert((step.clone(), item_key.clone()), evidence.clone());
            }
            EventKind::StepExpanded { step, items } if !self.items.is_empty() => self.expand(step, items),
            _ => {}
        }
    }

    fn expand(&mut self, step: &Name, items: &[StepItem]) {
        for (number, item) in (0..).zip(items) {
            if let Some(files) = self.items.get(&(step.clone(), item.key.clone())).cloned() {
                self.set(&TaskId { step: step.clone(), item: Some(number) }, &files);
            }
        }
    }

    /// Sets the files of a task; without any, nothing is known of it.
    pub(super) fn set(&mut self, place: &TaskId, files: &[Artifact]) {
        if files.is_empty() {
            self.tasks.remove(place);
        } else {
            self.tasks.insert(place.clone(), files.to_vec());
        }
    }

    /// Returns the files of each task that has some.
    pub(super) fn tasks(&self) -> &BTreeMap<TaskId, Vec<Artifact>> {
        &self.tasks
    }
}
