use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::audit::Entry;
use crate::name::RunId;

/// After how many equal failures in a row a place is said to thrash.
const EQUAL: u32 = 3;

/// How the gap of a place went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GapTrend {
    /// The run.
    pub run: RunId,
    /// The place.
    pub place: String,
    /// Where it goes.
    pub trend: Trend,
    /// How many criteria each judged attempt failed, of how many, oldest first.
    pub gaps: Vec<(u32, u32)>,
}

/// Where a gap goes: the last attempt beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// Fewer criteria fail.
    Improving,
    /// As many fail.
    Flat,
    /// More fail.
    Worsening,
}

/// Work that is repeated without coming nearer to its end. More kinds will be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thrash {
    /// Attempts of a place failed in the same way, one after the other.
    Attempts {
        /// The run.
        run: RunId,
        /// The place.
        place: String,
        /// How many in a row.
        times: u32,
    },
    /// Rounds of a run ordered `break_symmetry`, one after the other, and D did not fall.
    GgsThrashing {
        /// The run.
        run: RunId,
        /// The number of the first of these rounds.
        first: u64,
        /// How many in a row.
        times: u32,
    },
}

/// What happened at one place of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Place {
    begun: BTreeSet<u64>,
    ended: BTreeSet<u64>,
    over: bool,
    /// Whether it has ended before, in this round or in an earlier one.
    has_ended: bool,
    /// Whether the last that is known of it is an end in success.
    well: bool,
    /// Whose fault it is that the last attempt failed; `None`: that was not seen, or it did not.
    class: Option<String>,
    gaps: Vec<(u64, u32, u32)>,
    /// How the attempt at hand failed so far: its exit, and the criteria that did not hold.
    now: (u64, String, BTreeSet<String>),
    last: Option<(String, BTreeSet<String>)>,
    equal: u32,
    most: u32,
}

impl Place {
    /// An attempt began; an earlier one may have failed.
    pub(super) fn began(&mut self, attempt: u64) {
        self.settle();
        self.begun.insert(attempt);
        self.now = (attempt, String::new(), BTreeSet::new());
        (self.class, self.well) = (None, false);
    }

    /// Another round lets it begin anew.
    pub(super) fn reopen(&mut self) {
        self.over = false;
    }

    /// Its work ended. False: it never began, or ended before.
    pub(super) fn ended(&mut self, entry: &Entry, attempt: u64) -> bool {
        self.class = entry.word("class").map(Into::into);
        let exit = entry.about.get("exit").map(ToString::to_string);
        self.now.1 = exit.unwrap_or_default();
        self.ended.insert(attempt) && self.begun.contains(&attempt)
    }

    /// A criterion was ruled on; whose fault it is if it did not pass.
    pub(super) fn judged(
        &mut self,
        attempt: u64,
        criterion: &str,
        (passed, class): (bool, Option<&str>),
    ) {
        if self.gaps.last().is_none_or(|gap| gap.0 != attempt) {
            self.gaps.push((attempt, 0, 0));
        }
        if let Some(gap) = self.gaps.last_mut() {
            gap.1 += u32::from(!passed);
            gap.2 += 1;
        }
        if !passed {
            self.now.2.insert(criterion.to_owned());
            self.class = self.class.take().or_else(|| class.map(Into::into));
        }
    }

    /// It ended. False: it had before, in this round.
    pub(super) fn is_over(&mut self, state: Option<&str>) -> bool {
        self.settle();
        (self.has_ended, self.well) = (true, state == Some("succeeded"));
        !std::mem::replace(&mut self.over, true)
    }

    /// Whether it has ended before.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether nothing was wrong with what it did last: it runs again for what it depends on.
    pub(super) fn was_well(&self) -> bool {
        self.well
    }

    /// Whose fault it is that the last attempt failed.
    pub(super) fn class(&self) -> Option<&str> {
        self.class.as_deref()
    }

    /// Compares the attempt at hand, if it failed, with the one before it.
    fn settle(&mut self) {
        let (attempt, exit, failed) = std::mem::take(&mut self.now);
        if attempt == 0 || (exit.is_empty() && failed.is_empty()) {
            return;
        }
        let how = Some((exit, failed));
        self.equal = if how == self.last { self.equal + 1 } else { 1 };
        self.last = how;
        self.most = self.most.max(self.equal);
    }

    pub(super) fn trend(&self, run: &RunId, place: &str) -> Option<GapTrend> {
        let (first, last) = (self.gaps.first()?, self.gaps.last()?);
        if self.gaps.len() < 2 {
            return None;
        }
        let trend = match last.1.cmp(&first.1) {
            std::cmp::Ordering::Less => Trend::Improving,
            std::cmp::Ordering::Equal => Trend::Flat,
            std::cmp::Ordering::Greater => Trend::Worsening,
        };
        Some(GapTrend {
            run: run.clone(),
            place: place.into(),
            trend,
            gaps: self.gaps.iter().map(|gap| (gap.1, gap.2)).collect(),
        })
    }

    pub(super) fn thrash(&self, run: &RunId, place: &str) -> Option<Thrash> {
        let mut now = self.clone();
        now.settle();
        (now.most >= EQUAL).then(|| Thrash::Attempts {
            run: run.clone(),
            place: place.into(),
            times: now.most,
        })
    }
}
