use serde::Serialize;

use super::{Held, Looped, Shaken, Trajectory};
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
    /// The document as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
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

/// How long a step took, if it began and ended.
pub(super) fn took(row: &StepRow) -> Option<std::time::Duration> {
    let started = row.started?;
    row.ended.map(|ended| ended.since(started))
}

/// Whether the row counts in the tally: a whole step that ended.
pub(super) fn is_whole(row: &StepRow) -> bool {
    row.item.is_none() && row.state != StepState::Pending
}
