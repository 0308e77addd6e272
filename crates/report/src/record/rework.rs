use serde::Serialize;

use super::{RunDecisions, RunRecord};
use wf_core::machine::{Attempt, Event, EventKind, RequestDecision, ReworkLoop, Standing, StepState, TaskId};
use wf_model::CheckPhase;
use wf_store::StepRow;

/// An attempt that followed because a check of `inspect` or `test` failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopedAttempt {
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The loop and its phase.
    #[serde(rename = "loop")]
    pub looped: ReworkLoop,
}

impl LoopedAttempt {
    /// The events it is built from.
    pub const EVENTS: [&'static str; 1] = ["retry_scheduled"];

    /// Returns the loops in events, in order.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let loops = events.into_iter().filter_map(|event| match &event.fact {
            EventKind::RetryScheduled { attempt, looped: Some(looped), .. } => {
                Some(Self { attempt: attempt.clone(), looped: *looped })
            }
            _ => None,
        });
        loops.collect()
    }
}

impl RunRecord {
    /// Returns the used loops of a task, and the findings ignored by approvers: `inspect 2/3`.
    pub(super) fn loops_of_task(&self, task_id: &TaskId) -> Vec<String> {
        let own = self.loops.iter().filter(|looped| looped.attempt.task_id == *task_id);
        let last = |phase| own.clone().rev().find(|looped_attempt| looped_attempt.looped.phase == phase);
        let phases = [CheckPhase::Inspect, CheckPhase::Test];
        let loops = phases.into_iter().filter_map(last);
        let mut texts: Vec<String> = loops.map(|attempt| attempt.looped.to_string()).collect();
        texts.extend(self.ignored_findings(task_id));
        texts
    }

    /// Returns the number of attempts of a task that were loops, up to one of them.
    pub(super) fn loop_count_until(&self, task_id: &TaskId, attempt: u32) -> u32 {
        let own = self.loops.iter();
        let own = own.filter(|looped_attempt| {
            looped_attempt.attempt.task_id == *task_id && looped_attempt.attempt.attempt <= attempt
        });
        u32::try_from(own.count()).unwrap_or(u32::MAX)
    }

    /// Returns how an attempt was sent back by `inspect` or `test`, or why it was not; `None` if
    /// neither of them found anything.
    pub(super) fn loop_reason(&self, row: &StepRow, attempt: u32) -> Option<String> {
        let place = super::record::task_of_row(row);
        let next = self.loops.iter().find(|looped_attempt| {
            looped_attempt.attempt.task_id == place
                && looped_attempt.attempt.attempt == attempt.saturating_add(1)
        });
        if let Some(LoopedAttempt { looped, .. }) = next {
            let (phase, n, max) = (looped.phase.as_str(), looped.number, looped.limit);
            return Some(format!("`{phase}` failed, rework {n} of {max}"));
        }
        let own = self.checks.iter().filter(|check| {
            let of_step = check.step.as_ref() == Some(&place.step) && check.item == place.item;
            of_step && check.attempt == Some(attempt) && !check.verdict.passed()
        });
        let phase = own.map(|check| check.verdict.phase).max()?;
        let ended = row.state == StepState::Failed && phase != CheckPhase::Verify;
        ended.then(|| format!("all reworks of `{}` are used", phase.as_str()))
    }

    /// Returns the ignored findings of an unverified result: `inspect ignored by ada`.
    pub(super) fn ignored_findings(&self, task_id: &TaskId) -> Vec<String> {
        let own = |row: &&StepRow| super::record::task_of_row(row) == *task_id;
        let row = self.steps.iter().find(own);
        // Findings ignored in an attempt before the verified one do not matter.
        match row {
            Some(row) if row.standing != Standing::Verified => ignored_in(&self.decisions, task_id),
            _ => Vec::new(),
        }
    }
}

fn ignored_in(decisions: &RunDecisions, task_id: &TaskId) -> Vec<String> {
    let own = decisions.questions.iter();
    let own = own.filter(|question| question.ask.task_id.as_ref() == Some(task_id));
    let reasons = own.filter_map(|question| {
        let (phase, outcome) = (question.ask.phase?, question.given.as_ref()?);
        let names: Vec<&str> = outcome.by.iter().map(|by| by.name.as_str()).collect();
        let by = format!("{} ignored by {}", phase.as_str(), names.join(", "));
        (outcome.decision == RequestDecision::Approved).then_some(by)
    });
    reasons.collect()
}
