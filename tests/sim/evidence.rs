//! The files that checks look at, and who changes them afterwards.

use std::collections::BTreeMap;

use wf_base::digest::Sha256Digest;
use wf_core::machine::{Artifact, Attempt, InputKind, StaleFile, TaskId};

use super::{
    faults::Fault,
    ledger::step_of,
    look::Broken,
    world::{Run, World},
};

/// What the file of a place is, by how often it was written.
pub fn content(files: &BTreeMap<TaskId, u32>, task_id: &TaskId) -> Sha256Digest {
    let version = files.get(task_id).copied().unwrap_or_default();
    Sha256Digest::of_bytes(format!("{task_id} {version}").as_bytes())
}

impl Run {
    /// What the file of a place is now.
    pub fn content(&self, task_id: &TaskId) -> Sha256Digest {
        content(&self.files, task_id)
    }

    /// Whether the file of a place is not what it was when the place was checked.
    pub fn is_changed(&self, task_id: &TaskId) -> bool {
        let taken = self.durable.book(task_id).evidence;
        taken.is_some_and(|taken| taken != self.content(task_id))
    }

    /// Writes the file of a place anew.
    pub fn write_file(&mut self, task_id: &TaskId) {
        *self.files.entry(task_id.clone()).or_default() += 1;
    }
}

impl World {
    /// The evidence of an attempt that is checked, where its step declares a file.
    pub fn evidence(&self, at: usize, attempt: &Attempt) -> Vec<Artifact> {
        let run = &self.runs[at];
        let place = &attempt.task_id;
        let declares = self.fates.declares(at, step_of(&run.plan, place));
        let file = || Artifact { path: file(place), digest: run.content(place), size: 1, released_by: None };
        declares.then(file).into_iter().collect()
    }

    /// Looks at evidence once more; says now and then something of those nobody asked about, too.
    pub fn confirmed(&mut self, at: usize, places: Vec<TaskId>) -> InputKind {
        if self.faults.has(Fault::Meddle) && self.dice.one_in(3) {
            let place = self.dice.pick(&places).clone();
            self.rewrite(at, &place);
        }
        let run = &mut self.runs[at];
        run.looked = Some(run.files.clone());
        let mut stale: Vec<TaskId> = places;
        stale.retain(|place| run.is_changed(place));
        if self.dice.one_in(8) {
            let unproved = run.durable.places.iter();
            let unproved = unproved.filter(|(_, book)| {
                let end = book.ended.as_ref();
                end.is_some_and(|end| !end.standing.is_checked())
            });
            stale.extend(unproved.map(|(place, _)| place.clone()));
        }
        let stale = stale.into_iter().map(told).collect();
        InputKind::Confirmed { stale }
    }

    /// Says too early that all evidence is stale.
    pub fn early_word(&self, at: usize) -> InputKind {
        let places = self.runs[at].durable.places.iter();
        let known = places.filter(|(_, book)| book.evidence.is_some());
        let stale = known.map(|(place, _)| told(place.clone())).collect();
        InputKind::Confirmed { stale }
    }

    fn rewrite(&mut self, at: usize, task_id: &TaskId) {
        self.runs[at].write_file(task_id);
        self.runs[at].steady = false;
        self.coverage.count("fault", Fault::Meddle.name());
        self.say(|| format!("run {at}: somebody writes the file of {task_id}"));
    }

    /// Changes a file that was evidence, or may become it.
    pub fn meddle(&mut self, at: usize) -> Result<(), Broken> {
        let run = &self.runs[at];
        let proved = |task_id: &TaskId| {
            let book = run.decided.book(task_id);
            let end = book.ended.filter(|_| book.evidence.is_some());
            end.is_some_and(|end| end.standing.is_checked())
        };
        let all: Vec<TaskId> = run.files.keys().cloned().collect();
        let (worth, other): (Vec<TaskId>, Vec<TaskId>) = all.into_iter().partition(proved);
        let worthy = !worth.is_empty() && !self.dice.one_in(4);
        let places = if worthy { worth } else { other };
        if places.is_empty() {
            return Ok(());
        }
        let place = self.dice.pick(&places).clone();
        self.rewrite(at, &place);
        if worthy && self.dice.one_in(3) {
            return self.feed(at, i64::MIN, InputKind::Stale(told(place)));
        }
        Ok(())
    }
}

fn told(task_id: TaskId) -> StaleFile {
    StaleFile { path: file(&task_id), task_id }
}

pub fn file(task_id: &TaskId) -> String {
    format!("{task_id}.txt")
}
