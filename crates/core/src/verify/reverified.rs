//! Results checked again.

use serde::Serialize;

use crate::machine::{CheckRuling, CheckVerdict, TaskId};

/// The state of a result, compared with the time when it was checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReverifiedResult {
    /// The steps above its run, outermost first.
    pub path: Vec<String>,
    /// The task; `None`: the plan's own criteria.
    #[serde(flatten)]
    pub task_id: Option<TaskId>,
    /// The files it was checked with: their number, and the first that changed since.
    pub evidence: Option<EvidenceFreshness>,
    pub criteria: Vec<CriterionComparison>,
}

/// The freshness of the files a result was checked with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidenceFreshness {
    pub files: usize,
    /// The first file that changed, or is gone; `None`: it is fresh.
    pub stale: Option<String>,
}

/// A criterion, then and now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionComparison {
    /// The recorded ruling.
    pub then: CheckRuling,
    /// The current verdict.
    pub now: CheckVerdict,
}

impl ReverifiedResult {
    /// True if something here passed then.
    pub fn passed(&self) -> bool {
        let mut all = self.criteria.iter();
        all.any(|criterion| criterion.then == CheckRuling::Pass)
    }

    /// True if all that passed then passes now, and its files are unchanged.
    pub fn still_holds(&self) -> bool {
        let fresh = self.evidence.as_ref().is_none_or(|files| files.stale.is_none());
        let mut all = self.criteria.iter();
        let holds = |comparison: &CriterionComparison| {
            comparison.then != CheckRuling::Pass || comparison.now.ruling == CheckRuling::Pass
        };
        all.all(holds) && (fresh || !self.passed())
    }
}
