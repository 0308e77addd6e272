use serde::Serialize;
use serde_json::Value;

use super::life::tell_lives;
use super::{Held, Life, Looped, Shaken, Trajectory};
use crate::machine::{Ledger, Place, StepState};
use crate::name::RunId;
use crate::store::{ArtifactRow, AttemptRow, CheckRow, Owner, RunRow, StepRow};

/// The version of the document of `wf show --json`. Within a version, keys are only added.
pub const RECORD_VERSION: u32 = 1;

/// Everything that is known of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The version of the format.
    pub v: u32,
    /// The run itself.
    pub run: RunRow,
    /// Where it is in its life, the process that works on it considered.
    pub life: Life,
    /// The run that it is part of, at the top, if it is part of one.
    #[serde(skip)]
    pub top: Option<RunId>,
    /// The runs that repeat it.
    pub repeated_by: Vec<RunId>,
    /// The process that works on it, or did when it died.
    pub owner: Option<Owner>,
    /// The steps that something happened to.
    pub steps: Vec<StepRow>,
    /// The attempts.
    pub attempts: Vec<AttemptRow>,
    /// The rulings.
    pub checks: Vec<CheckRow>,
    /// How far the attempts of each place were from done.
    pub gaps: Vec<Trajectory>,
    /// The attempts for which `inspect` or `test` sent the work back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<Looped>,
    /// The steps that depend on one whose evidence is stale.
    pub shaken: Vec<Shaken>,
    /// What let it begin and go on.
    #[serde(flatten)]
    pub held: Held,
    /// What it has used up, and of what budget; absent if there is neither a budget nor anything
    /// that only a ledger tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,
    /// The files that were left.
    pub artifacts: Vec<ArtifactRow>,
    /// The runs nested in it, each with the attempt that it is nested in.
    pub nested: Vec<Nested>,
}

/// A run nested in another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nested {
    /// The attempt above it, as shown: `build[2]#1`.
    pub attempt: String,
    /// The run.
    pub record: Record,
}

impl Record {
    /// Shows as waiting what waits for its items or for a run inside: of a run that only waits for
    /// people, nothing runs.
    #[must_use]
    pub fn at_rest(mut self) -> Self {
        if self.life == Life::Waiting {
            let running = self.steps.iter_mut();
            let running = running.filter(|row| row.state == StepState::Running);
            running.for_each(|row| row.state = StepState::Waiting);
        }
        self
    }

    /// What people are asked and have not answered, in it and inside of it, by its names.
    pub fn open_questions(&self) -> Vec<String> {
        let open = self.held.questions.iter();
        let open = open.filter(|question| question.given.is_none());
        let own = open.map(|question| match &question.ask.place {
            Some(place) => self.called(place),
            None => "run".to_owned(),
        });
        let inside = self.nested.iter().flat_map(|nested| {
            let above = nested.attempt.split('#').next().unwrap_or_default();
            let place = above.parse::<Place>();
            let above = place.map_or_else(|_| above.to_owned(), |place| self.called(&place));
            let names = nested.record.open_questions().into_iter();
            names.map(move |name| match name.as_str() {
                "run" => above.clone(),
                name => format!("{above}/{name}"),
            })
        });
        own.chain(inside).collect()
    }

    /// The document.
    pub fn document(&self) -> Value {
        let mut document = serde_json::to_value(self).unwrap_or_default();
        tell_lives(&mut document);
        document
    }

    /// The document as JSON.
    pub fn json(&self) -> String {
        format!("{:#}\n", self.document())
    }

    /// The rulings on the last judged attempt of a place.
    pub fn rulings(&self, place: &Place) -> Vec<&CheckRow> {
        let of = |check: &&CheckRow| {
            check.step.as_ref() == Some(&place.step) && check.item == place.item
        };
        let last = self
            .checks
            .iter()
            .filter(of)
            .filter_map(|check| check.attempt)
            .max();
        let checks = self.checks.iter().filter(of);
        checks.filter(|check| check.attempt == last).collect()
    }

    /// `gap 3/5 → 0/5`, where more than one attempt of a place was judged.
    pub fn gap(&self, place: &Place) -> Option<String> {
        self.gaps.iter().find(|gaps| gaps.is_of(place))?.text()
    }

    /// The rulings on the plan's own criteria.
    pub fn own_rulings(&self) -> impl Iterator<Item = &CheckRow> {
        self.checks.iter().filter(|check| check.step.is_none())
    }

    /// A place as people are shown it.
    pub fn called(&self, place: &Place) -> String {
        let own = |row: &&StepRow| row.step == place.step && row.item == place.item;
        match self.steps.iter().find(own).filter(|_| place.item.is_some()) {
            Some(row) => called(row),
            None => place.to_string(),
        }
    }

    /// The runs nested in attempts of a place.
    pub fn nested_in(&self, place: &Place) -> impl Iterator<Item = &Record> {
        let place = place.to_string();
        self.nested
            .iter()
            .filter(move |nested| {
                nested
                    .attempt
                    .rsplit_once('#')
                    .is_some_and(|(p, _)| p == place)
            })
            .map(|nested| &nested.record)
    }
}

/// The place that a row is about.
pub(super) fn place(row: &StepRow) -> Place {
    Place {
        step: row.step.clone(),
        item: row.item,
    }
}

/// The place that a row is about, as people are shown it.
pub(super) fn called(row: &StepRow) -> String {
    place(row).called(row.item_key.as_deref())
}

/// How long a step took, if it began and ended.
pub(super) fn took(row: &StepRow) -> Option<std::time::Duration> {
    let started = row.started?;
    row.ended.map(|ended| ended.since(started))
}

/// Whether the row counts in the tally: a whole step that ended.
pub(super) fn is_whole(row: &StepRow) -> bool {
    row.item.is_none() && row.state != StepState::Pending
}
