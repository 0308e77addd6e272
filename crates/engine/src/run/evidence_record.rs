//! The evidence of the tasks of a run, as its events tell it.

use std::collections::{BTreeMap, BTreeSet};

use wf_base::{digest::Sha256Digest, name::Name};
use wf_core::machine::{Artifact, Event, EventKind, ReusedItem, StepItem, TaskId};

/// The evidence of tasks, as recorded: those of the last attempt of each, or of the run its result was reused from.
///
/// **Invariant:** a file that only `writes` lists is evidence of a task as long as no other task declaring it is under
/// way. It follows from the events alone, so all who read them agree.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvidenceRecord {
    tasks: BTreeMap<TaskId, Vec<Artifact>>,
    /// The files of reused items, by step and key, for when the items are known.
    items: BTreeMap<(Name, String), Vec<Artifact>>,
    /// The reused items of which only one with the same value has those files.
    digests: BTreeMap<(Name, String), Sha256Digest>,
    /// The tasks with a file a step or an item releases.
    releasable: BTreeMap<TaskId, BTreeSet<TaskId>>,
    turns: TaskTurns,
}

impl EvidenceRecord {
    /// Returns the record of a run.
    pub(crate) fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut record = Self::default();
        events.into_iter().for_each(|event| record.apply(&event.fact));
        record
    }

    pub(crate) fn apply(&mut self, kind: &EventKind) {
        match kind {
            EventKind::AttemptStarted(attempt) => self.begin(&attempt.task_id),
            EventKind::CacheHit { task_id, .. } => self.begin(task_id),
            EventKind::StepEnded { task_id, .. } => self.turns.end(task_id),
            EventKind::EvidenceTaken { attempt, files } => self.record_artifacts(&attempt.task_id, files),
            EventKind::StepReused { step, evidence, .. } if !evidence.is_empty() => {
                self.set(&TaskId::of_step(step), evidence.clone());
            }
            EventKind::ItemReused(ReusedItem { step, item_key, item_digest, evidence, .. })
                if !evidence.is_empty() =>
            {
                let item = (step.clone(), item_key.clone());
                self.digests.extend(item_digest.map(|digest| (item.clone(), digest)));
                self.items.insert(item, evidence.clone());
            }
            EventKind::StepExpanded { step, items } if !self.items.is_empty() => self.expand(step, items),
            _ => {}
        }
    }

    fn expand(&mut self, step: &Name, items: &[StepItem]) {
        for (number, item) in (0..).zip(items) {
            let named = (step.clone(), item.key.clone());
            let is_same = self.digests.get(&named).is_none_or(|digest| *digest == item.digest());
            if let Some(files) = self.items.get(&named).filter(|_| is_same).cloned() {
                self.set(&TaskId { step: step.clone(), item: Some(number) }, files);
            }
        }
    }

    /// Applies that an attempt of a task begins: it may change the files its step declares, and its own earlier result
    /// counts no more.
    fn begin(&mut self, by: &TaskId) {
        self.turns.begin(by);
        self.tasks.remove(by);
        let is_kept = |artifact: &Artifact| !artifact.is_released_by(by);
        let released =
            [TaskId::of_step(&by.step), by.clone()].map(|declaring| self.releasable.remove(&declaring));
        for place in released.into_iter().flatten().flatten() {
            if let Some(files) = self.tasks.get_mut(&place) {
                files.retain(is_kept);
                if files.is_empty() {
                    self.tasks.remove(&place);
                }
            }
        }
        for files in self.items.values_mut() {
            files.retain(is_kept);
        }
    }

    /// Sets the files a task was checked with, except those another task may have changed meanwhile.
    pub(crate) fn record_artifacts(&mut self, task_id: &TaskId, artifacts: &[Artifact]) {
        let is_alone = |artifact: &&Artifact| {
            let mut declaring = artifact.released_by.iter().flatten();
            !declaring.any(|other| self.turns.has_met(task_id, other))
        };
        let files = artifacts.iter().filter(is_alone).cloned().collect();
        self.set(task_id, files);
    }

    /// Sets the files of a task; without any, nothing is known of it.
    fn set(&mut self, task_id: &TaskId, artifacts: Vec<Artifact>) {
        for declaring in artifacts.iter().filter_map(|file| file.released_by.as_ref()).flatten() {
            self.releasable.entry(declaring.clone()).or_default().insert(task_id.clone());
        }
        if artifacts.is_empty() {
            self.tasks.remove(task_id);
        } else {
            self.tasks.insert(task_id.clone(), artifacts);
        }
    }

    /// Returns the files of each task with some.
    pub(crate) fn tasks(&self) -> &BTreeMap<TaskId, Vec<Artifact>> {
        &self.tasks
    }

    /// Returns the files of a reused item, by its key.
    pub(crate) fn of_reused_item(&self, step: &Name, key: &str) -> &[Artifact] {
        self.items.get(&(step.clone(), key.to_owned())).map_or(&[], Vec::as_slice)
    }
}

/// The order in which tasks begin and end.
#[derive(Clone, Debug, Default)]
struct TaskTurns {
    /// The number of beginnings and ends so far.
    count: u64,
    /// The tasks that are under way, with the number of their last beginning.
    begun: BTreeMap<TaskId, u64>,
    /// The number of the last end of each task, and of a task of each step.
    ended: BTreeMap<TaskId, u64>,
}

impl TaskTurns {
    fn begin(&mut self, task_id: &TaskId) {
        self.count += 1;
        self.begun.insert(task_id.clone(), self.count);
    }

    fn end(&mut self, task_id: &TaskId) {
        self.count += 1;
        if self.begun.remove(task_id).is_some() {
            self.ended.insert(task_id.clone(), self.count);
            self.ended.insert(TaskId::of_step(&task_id.step), self.count);
        }
    }

    /// True if another task, of those that `other` stands for, has been under way since the last attempt of a task began.
    fn has_met(&self, task_id: &TaskId, other: &TaskId) -> bool {
        let tasks = self.begun.range(other.clone()..).map(|(task, _)| task);
        let mut tasks = tasks.take_while(|task| other.contains(task));
        let (begun, ended) = (self.begun.get(task_id), self.ended.get(other));
        tasks.any(|task| task != task_id) || begun.zip(ended).is_some_and(|(begun, ended)| ended > begun)
    }
}

#[cfg(test)]
mod tests {
    use wf_base::{digest::Sha256Digest, name::Name};
    use wf_core::machine::{Artifact, Attempt, EventKind, Standing, StepState, TaskId};
    use wf_model::JsonObject;

    use super::EvidenceRecord;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn task(step: &str, item: Option<u32>) -> TaskId {
        TaskId { step: name(step), item }
    }

    fn file(path: &str, released_by: Option<&[&str]>) -> Artifact {
        let released_by = released_by.map(|steps| steps.iter().map(|step| task(step, None)).collect());
        Artifact { path: path.into(), digest: Sha256Digest::of_bytes(b""), size: 0, released_by }
    }

    fn begun(task_id: &TaskId) -> EventKind {
        EventKind::AttemptStarted(Attempt { task_id: task_id.clone(), attempt: 1 })
    }

    fn ended(task_id: &TaskId) -> EventKind {
        EventKind::StepEnded {
            task_id: task_id.clone(),
            state: StepState::Succeeded,
            standing: Standing::Verified,
            reason: String::new(),
            failure_class: None,
            allowed_to_fail: false,
            cache_key: None,
            outputs: JsonObject::new(),
            reused_from: None,
        }
    }

    fn taken(task_id: &TaskId, artifacts: &[Artifact]) -> EventKind {
        let attempt = Attempt { task_id: task_id.clone(), attempt: 1 };
        EventKind::EvidenceTaken { attempt, files: artifacts.to_vec() }
    }

    fn paths<'a>(record: &'a EvidenceRecord, task_id: &TaskId) -> Vec<&'a str> {
        record.tasks().get(task_id).into_iter().flatten().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn a_product_is_evidence_until_another_task_that_declares_it_begins() {
        let (make, own) = (task("make", None), task("other", None));
        let files = [file("strict", None), file("a", Some(&["mend"])), file("b", Some(&[]))];
        let mut record = EvidenceRecord::default();
        for fact in [begun(&make), taken(&make, &files), begun(&own)] {
            record.apply(&fact);
        }
        assert_eq!(paths(&record, &make), ["strict", "a", "b"]);
        record.apply(&begun(&task("mend", Some(3))));
        assert_eq!(paths(&record, &make), ["strict", "b"]);
        // The engine notes evidence before the event; noted again, it stays released.
        record.apply(&taken(&make, &files));
        assert_eq!(paths(&record, &make), ["strict", "b"]);
    }

    #[test]
    fn items_that_name_one_file_release_each_other_and_not_themselves() {
        let items = [task("each", Some(0)), task("each", Some(1))];
        let files = [file("log", Some(&["each"]))];
        let mut record = EvidenceRecord::default();
        for item in &items {
            for fact in [begun(item), taken(item, &files), begun(item), taken(item, &files)] {
                record.apply(&fact);
            }
            assert_eq!(paths(&record, item), ["log"]);
            record.apply(&ended(item));
        }
        assert!(paths(&record, &items[0]).is_empty());
        assert_eq!(paths(&record, &items[1]), ["log"]);
    }

    #[test]
    fn an_item_releases_only_what_it_names() {
        let [first, second, third] = [0, 1, 2].map(|item| task("each", Some(item)));
        let shared = Artifact { released_by: Some(vec![third.clone()]), ..file("log", None) };
        let mut record = EvidenceRecord::default();
        for fact in [begun(&second), begun(&first), ended(&second), taken(&first, &[shared]), begun(&second)]
        {
            record.apply(&fact);
        }
        assert_eq!(paths(&record, &first), ["log"]);
        record.apply(&begun(&third));
        assert!(paths(&record, &first).is_empty());
    }

    #[test]
    fn what_a_task_that_declares_it_could_change_meanwhile_is_no_evidence() {
        let (make, mend) = (task("make", None), task("mend", None));
        let files = [file("a", Some(&["mend"]))];
        let before = [begun(&mend), ended(&mend), begun(&make), taken(&make, &files)];
        let beside = [begun(&mend), begun(&make), taken(&make, &files)];
        let over = [begun(&mend), begun(&make), ended(&mend), taken(&make, &files)];
        for (facts, expected) in [(&before[..], &["a"][..]), (&beside, &[]), (&over, &[])] {
            let mut record = EvidenceRecord::default();
            for fact in facts {
                record.apply(fact);
            }
            assert_eq!(paths(&record, &make), expected, "{facts:?}");
        }
    }
}
