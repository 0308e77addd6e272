use std::time::Duration;

use serde::Serialize;

use super::Durability;
use crate::goal::Part;
use crate::machine::{Artifact, Criteria, Exit, Outcome, Standing, StepState, Tally, Verdict};
use crate::model::{Class, Object};
use crate::name::{Name, PlanId, RunId};
use crate::time::Moment;

/// A run as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// The id of its plan.
    pub plan: String,
    /// The path of its spec, relative to the workspace.
    pub path: String,
    /// Where it is in its life.
    pub state: RunState,
    /// How far its result is believed.
    pub standing: Standing,
    /// Its resolved parameters.
    pub params: Object,
    /// The run and the attempt (as shown, `step[item]#n`) that it is nested in.
    pub parent: Option<(RunId, String)>,
    /// The run that it repeats.
    pub retry_of: Option<RunId>,
    /// When it was recorded.
    pub created: Moment,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Why it ended so; empty for success.
    pub why: String,
    /// The first step that failed.
    pub failed: Option<Name>,
    /// How its steps ended; all zero while it runs.
    pub tally: Tally,
    /// Its outputs.
    pub outputs: Object,
    /// How many questions people have not answered.
    pub asks: u32,
    /// How many criteria held, if it was accepted with less than all.
    pub accepted: Option<Criteria>,
    /// Which run of a cycle of a goal it is, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Part>,
    /// What its events survive; absent if it was recorded by a version that did not write it down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// How long nobody worked on it before it was gone on with, in milliseconds.
    pub idle_ms: u64,
}

impl RunRow {
    /// How long it took: from its beginning to its end, without the time in which nobody worked
    /// on it.
    pub fn took(&self) -> Option<Duration> {
        self.ended.map(|ended| self.took_until(ended))
    }

    /// How long it has taken up to an instant.
    pub fn took_until(&self, now: Moment) -> Duration {
        let idle = Duration::from_millis(self.idle_ms);
        now.since(self.created).saturating_sub(idle)
    }
}

/// Where a run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It began and has not ended; whether a process works on it is not said here.
    Running,
    /// It ended so.
    #[serde(untagged)]
    Ended(Outcome),
}

/// A step, or an item of a repeated step, as the store shows it. Only steps that something
/// happened to have a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRow {
    /// The step.
    pub step: Name,
    /// The item, where the step is repeated; its own row has none.
    pub item: Option<u32>,
    /// The item's key.
    pub item_key: Option<String>,
    /// Where it is in its life.
    pub state: StepState,
    /// How far it is believed.
    pub standing: Standing,
    /// How many attempts began.
    pub attempts: u32,
    /// When the first attempt began.
    pub started: Option<Moment>,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Why it ended so.
    pub why: String,
    /// Whose fault a failure is.
    pub class: Option<Class>,
    /// Whether its failure lets the run go on.
    pub tolerated: bool,
    /// The cache key under which an earlier result was found.
    pub cached: Option<String>,
    /// The run that did the work, where it was taken over.
    pub kept_from: Option<RunId>,
    /// Its outputs.
    pub outputs: Object,
    /// A file of its evidence that changed after it was checked.
    pub stale: Option<String>,
}

/// An attempt as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptRow {
    /// The step.
    pub step: Name,
    /// The item.
    pub item: Option<u32>,
    /// Which attempt, from one.
    pub attempt: u32,
    /// When it began.
    pub started: Moment,
    /// When its work ended.
    pub ended: Option<Moment>,
    /// How its work ended.
    pub exit: Option<Exit>,
    /// Whose fault a failure is.
    pub class: Option<Class>,
}

/// A ruling on a criterion as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckRow {
    /// The step; `None` for the plan's own criteria.
    pub step: Option<Name>,
    /// The item.
    pub item: Option<u32>,
    /// The attempt that was judged.
    pub attempt: Option<u32>,
    /// When.
    pub at: Moment,
    /// The ruling.
    pub verdict: Verdict,
}

/// A file that an attempt left, as the store shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArtifactRow {
    /// The step.
    pub step: Name,
    /// The item.
    pub item: Option<u32>,
    /// The attempt that left it.
    pub attempt: u32,
    /// The file.
    pub artifact: Artifact,
}

/// The process that works on a run, or did when it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// Whether it lives.
    pub alive: bool,
}

/// Which runs to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Of this plan only.
    pub plan: Option<PlanId>,
    /// In this state only.
    pub state: Option<RunState>,
    /// Runs nested in others too.
    pub nested: bool,
}
