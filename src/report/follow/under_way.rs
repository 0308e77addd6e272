use std::collections::BTreeMap;

use super::Tail;
use crate::machine::{Gap, Place, StepState, Verdict};
use crate::report::Names;
use crate::time::Moment;

/// A run that goes on.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) path: Vec<String>,
    pub(super) places: BTreeMap<Place, Busy>,
}

/// A place that has begun.
#[derive(Debug)]
pub(super) struct Busy {
    pub(super) since: Moment,
    pub(super) attempt: u32,
    pub(super) checking: bool,
    pub(super) waiting: bool,
    pub(super) nested: bool,
    pub(super) broken: Vec<Verdict>,
    /// How many criteria were ruled on.
    pub(super) judged: u32,
    pub(super) tail: Tail,
}

/// A place on view while it goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Going {
    /// The place with those above it.
    pub subject: String,
    /// When its first attempt began.
    pub since: Moment,
    /// Which attempt it is at.
    pub attempt: u32,
    /// What it does.
    pub state: StepState,
}

impl Busy {
    /// How many criteria of its attempt failed, if they were judged.
    pub(super) fn gap(&self) -> Option<Gap> {
        (self.judged > 0).then(|| Gap {
            attempt: self.attempt,
            failed: u32::try_from(self.broken.len()).unwrap_or(u32::MAX),
            of: self.judged,
        })
    }

    /// A place that begins an attempt.
    pub(super) fn new(since: Moment, attempt: u32) -> Self {
        Self {
            since,
            attempt,
            checking: false,
            waiting: false,
            nested: false,
            broken: Vec::new(),
            judged: 0,
            tail: Tail::default(),
        }
    }

    /// What it does.
    pub(super) fn state(&self) -> StepState {
        match self {
            Self { waiting: true, .. } => StepState::Waiting,
            Self { checking: true, .. } => StepState::Verifying,
            _ => StepState::Running,
        }
    }
}

/// The way to a place: the places above it, and itself.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way<'o> {
    /// The places above, with their items in order.
    above: Vec<Option<Place>>,
    path: &'o [String],
    place: &'o Place,
}

impl Way<'_> {
    /// The place as people are shown it.
    pub(super) fn subject(&self, names: &Names) -> String {
        names.subject(self.path, self.place)
    }
}

impl Open {
    /// The places that do something of their own, each with when it began.
    pub(super) fn going(&self) -> impl Iterator<Item = (Moment, Way<'_>, &Busy)> {
        let visible = self.places.iter().filter(|(_, busy)| !busy.nested);
        visible.map(|(place, busy)| {
            let above = self.path.iter().map(|above| above.parse().ok()).collect();
            let path = &self.path;
            (busy.since, Way { above, path, place }, busy)
        })
    }
}
