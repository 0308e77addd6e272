use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::records::record::AuditEntry;
use wf_base::name::RunId;

/// The number of equal failures in a row after which a task thrashes.
const EQUAL: u32 = 3;

/// The trend of the gap of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GapTrend {
    /// The run.
    pub run: RunId,
    /// The task.
    pub place: String,
    /// The trend.
    pub trend: FailureTrend,
    /// The number of failed criteria and of all, for each judged attempt, oldest first.
    pub gaps: Vec<(u32, u32)>,
}

/// The trend of a gap: the last attempt compared with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureTrend {
    /// Fewer criteria fail.
    Improving,
    /// As many fail.
    Flat,
    /// More fail.
    Worsening,
}

/// Work that is repeated without progress. More kinds will be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ThrashPattern {
    /// Attempts of a task failed in the same way, one after the other.
    Attempts {
        /// The run.
        run: RunId,
        /// The task.
        place: String,
        /// The number of failures in a row.
        times: u32,
    },
    /// Rounds of a run ordered `break_symmetry`, one after the other, and D did not fall.
    GgsThrashing {
        /// The run.
        run: RunId,
        /// The number of the first of these rounds.
        first: u64,
        /// The number of rounds in a row.
        times: u32,
    },
}

/// The history of one task of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TaskHistory {
    started_attempts: BTreeSet<u64>,
    ended_attempts: BTreeSet<u64>,
    is_over: bool,
    /// True if it has ended before, in this round or in an earlier one.
    has_ended: bool,
    /// True if its last known state is success.
    last_succeeded: bool,
    /// The class of the last attempt's failure; `None`: it was not seen, or did not fail.
    failure_class: Option<String>,
    gaps: Vec<(u64, u32, u32)>,
    /// The failure of the current attempt so far: its exit, and the failed criteria.
    current_failure: (u64, String, BTreeSet<String>),
    last_failure: Option<(String, BTreeSet<String>)>,
    equal_failures: u32,
    most_equal_failures: u32,
}

impl TaskHistory {
    /// Starts an attempt; an earlier one may have failed.
    pub(super) fn start_attempt(&mut self, attempt: u64) {
        self.compare_attempts();
        self.started_attempts.insert(attempt);
        self.current_failure = (attempt, String::new(), BTreeSet::new());
        (self.failure_class, self.last_succeeded) = (None, false);
    }

    /// Reopens the task for another round.
    pub(super) fn reopen(&mut self) {
        self.is_over = false;
    }

    /// Ends the work of an attempt. False if it never began, or ended before.
    pub(super) fn ended(&mut self, entry: &AuditEntry, attempt: u64) -> bool {
        self.failure_class = entry.summary_text("failure_class").map(Into::into);
        let exit = entry.about.get("exit").map(ToString::to_string);
        self.current_failure.1 = exit.unwrap_or_default();
        self.ended_attempts.insert(attempt) && self.started_attempts.contains(&attempt)
    }

    /// Adds a verdict on a criterion, with the class if it failed.
    pub(super) fn add_verdict(
        &mut self,
        attempt: u64,
        criterion: &str,
        passed: bool,
        failure_class: Option<&str>,
    ) {
        if self.gaps.last().is_none_or(|gap| gap.0 != attempt) {
            self.gaps.push((attempt, 0, 0));
        }
        if let Some(gap) = self.gaps.last_mut() {
            gap.1 += u32::from(!passed);
            gap.2 += 1;
        }
        if !passed {
            self.current_failure.2.insert(criterion.to_owned());
            self.failure_class = self.failure_class.take().or_else(|| failure_class.map(Into::into));
        }
    }

    /// Ends the task. False if it had ended before, in this round.
    pub(super) fn is_over(&mut self, state: Option<&str>) -> bool {
        self.compare_attempts();
        (self.has_ended, self.last_succeeded) = (true, state == Some("succeeded"));
        !std::mem::replace(&mut self.is_over, true)
    }

    /// True if it has ended before.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// True if its last result was good: it runs again because of its dependencies.
    pub(super) fn last_succeeded(&self) -> bool {
        self.last_succeeded
    }

    /// Returns the class of the last attempt's failure.
    pub(super) fn failure_class(&self) -> Option<&str> {
        self.failure_class.as_deref()
    }

    /// Compares the current attempt, if it failed, with the one before it.
    fn compare_attempts(&mut self) {
        let (attempt, exit, failed) = std::mem::take(&mut self.current_failure);
        if attempt == 0 || (exit.is_empty() && failed.is_empty()) {
            return;
        }
        let how = Some((exit, failed));
        self.equal_failures = if how == self.last_failure { self.equal_failures + 1 } else { 1 };
        self.last_failure = how;
        self.most_equal_failures = self.most_equal_failures.max(self.equal_failures);
    }

    pub(super) fn trend(&self, run: &RunId, place: &str) -> Option<GapTrend> {
        let (first, last) = (self.gaps.first()?, self.gaps.last()?);
        if self.gaps.len() < 2 {
            return None;
        }
        let trend = match last.1.cmp(&first.1) {
            std::cmp::Ordering::Less => FailureTrend::Improving,
            std::cmp::Ordering::Equal => FailureTrend::Flat,
            std::cmp::Ordering::Greater => FailureTrend::Worsening,
        };
        Some(GapTrend {
            run: run.clone(),
            place: place.into(),
            trend,
            gaps: self.gaps.iter().map(|gap| (gap.1, gap.2)).collect(),
        })
    }

    pub(super) fn thrash(&self, run: &RunId, place: &str) -> Option<ThrashPattern> {
        let mut now = self.clone();
        now.compare_attempts();
        (now.most_equal_failures >= EQUAL).then(|| ThrashPattern::Attempts {
            run: run.clone(),
            place: place.into(),
            times: now.most_equal_failures,
        })
    }
}
