//! The record of a task: its attempts, their results, and what it may still use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{
        fold::{guidance::TaskGuidance, merges::TaskMerge},
        history::AttemptHistory,
        task_phase::TaskPhase,
    },
    words::{AgentRecord, Artifact, FailureTally, Standing, StepState},
};
use wf_base::{digest::Sha256Digest, name::GateId, time::Moment};
use wf_model::{CheckPhase, FailureClass, JsonObject};

/// The state of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the current attempt")]
pub(in crate::machine) struct TaskRecord {
    /// Attempts begun.
    pub(in crate::machine) attempts: u32,
    /// The number of them begun in earlier rounds.
    pub(in crate::machine) base: u32,
    pub(in crate::machine) phase: TaskPhase,
    pub(in crate::machine) standing: Standing,
    pub(in crate::machine) failure_class: Option<FailureClass>,
    /// The failures with which it ended, by class.
    #[serde(default, skip_serializing_if = "FailureTally::is_empty")]
    pub(in crate::machine) failures: FailureTally,
    /// The progress of its agent, in the last attempt.
    #[serde(default)]
    pub(in crate::machine) agent: Option<Box<AgentRecord>>,
    /// The digest of the text of the plan that it runs, in the last attempt, if the run made that plan.
    #[serde(default)]
    pub(in crate::machine) generated: Option<Sha256Digest>,
    /// The source of text that its agents were given and that is not trusted. It stays for further attempts: what
    /// an agent left may come from there.
    #[serde(default)]
    pub(in crate::machine) untrusted: Option<String>,
    /// The merge of its last attempt, if that worked in a worktree.
    #[serde(default)]
    pub(in crate::machine) merge: Option<Box<TaskMerge>>,
    /// The result of the last successful attempt.
    pub(in crate::machine) result: Option<Box<AttemptResult>>,
    /// True if its gates have let it in.
    pub(in crate::machine) entered: bool,
    /// True if they have let its next attempt begin; false again once that has.
    #[serde(default)]
    pub(in crate::machine) admitted: bool,
    /// The time at which its gates, or a person, let it queue last: its wait for a turn counts anew from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) let_in: Option<Moment>,
    /// The arguments as rewritten by its gates.
    pub(in crate::machine) tool_args: Option<serde_json::Value>,
    /// The number of times its gates were asked again.
    pub(in crate::machine) gate_tries: u32,
    /// The last phase of the attempt's checks that is over, unless it was the final one.
    pub(in crate::machine) passed: Option<CheckPhase>,
    /// True if an approver let a phase of the attempt's checks be ignored.
    pub(in crate::machine) ignored: bool,
    /// True if a check of the attempt passed although its steps may change everything that it reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::machine) is_unbounded: bool,
    /// The number of times `inspect` sent the work back.
    pub(in crate::machine) inspector_loops: u32,
    /// The number of times `test` did.
    pub(in crate::machine) tester_loops: u32,
    /// The calls that were made in this round by its agents and nested runs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(in crate::machine) calls: BTreeSet<String>,
    /// The first criterion that the last attempt failed, or a nested run that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) failed_check: Option<String>,
    /// The results of its attempts, once one failed; gone when it has ended.
    pub(in crate::machine) tries: Option<Box<AttemptHistory>>,
    /// The guidance of a planner, once it was asked in this round.
    #[serde(default)]
    pub(in crate::machine) guidance: Option<Box<TaskGuidance>>,
    /// The answer of people who were asked since the step was stuck in this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) person_guidance: Option<String>,
}

/// The result of a successful attempt, or of the cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct AttemptResult {
    pub(in crate::machine) outputs: JsonObject,
    pub(in crate::machine) artifacts: Vec<Artifact>,
    pub(in crate::machine) cached: Option<Sha256Digest>,
    /// The verification status of a nested run's result.
    pub(in crate::machine) standing: Option<Standing>,
    /// A verified file that changed while the attempt read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) swapped_file: Option<String>,
}

impl TaskRecord {
    /// Returns its final state.
    pub(in crate::machine) fn ended(&self) -> Option<StepState> {
        match self.phase {
            TaskPhase::Ended(state) => Some(state),
            _ => None,
        }
    }

    /// Returns the number of used loops of a phase.
    pub(in crate::machine) fn loops_of(&self, phase: CheckPhase) -> u32 {
        match phase {
            CheckPhase::Inspect => self.inspector_loops,
            CheckPhase::Test => self.tester_loops,
            CheckPhase::Verify => 0,
        }
    }

    /// Returns the number of rework attempts, which `retry` does not count.
    pub(in crate::machine) fn loops(&self) -> u32 {
        self.inspector_loops.saturating_add(self.tester_loops)
    }

    /// Starts an attempt: no phase is over, and nothing is ignored any more.
    pub(in crate::machine) fn reset_checks(&mut self) {
        self.passed = None;
        self.ignored = false;
        self.is_unbounded = false;
    }

    /// Notes that an approver let a phase be ignored, and with it its findings.
    pub(in crate::machine) fn note_ignored_phase(&mut self) {
        self.ignored = true;
        if let Some(tries) = &mut self.tries {
            tries.failed.clear();
        }
    }

    /// Returns a reopened task. Its attempts go on counting, and the next one is still told what
    /// was wrong with the last.
    pub(in crate::machine) fn for_next_round(&self) -> Self {
        Self {
            attempts: self.attempts,
            base: self.attempts,
            tries: self.tries.clone(),
            untrusted: self.untrusted.clone(),
            ..Self::default()
        }
    }

    /// Returns the results of this round's attempts; those of an earlier one feed a correction.
    pub(in crate::machine) fn history_of_round(&self) -> Option<&AttemptHistory> {
        let tries = self.tries.as_deref();
        tries.filter(|tries| self.base == 0 || tries.attempt > self.base)
    }

    /// Returns the number of attempts that were begun in this round.
    pub(in crate::machine) fn attempts_of_round(&self) -> u32 {
        self.attempts.saturating_sub(self.base)
    }

    /// True if guidance was given after an attempt: then one more attempt may use it.
    pub(in crate::machine) fn has_guidance_after(&self, attempt: u32) -> bool {
        self.guidance.as_ref().is_some_and(|guidance| guidance.after == attempt && guidance.text.is_some())
    }

    /// Notes the source of untrusted text that an agent was given; the first one stays.
    pub(in crate::machine) fn note_untrusted(&mut self, source: Option<&String>) {
        if self.untrusted.is_none() {
            self.untrusted = source.cloned();
        }
    }

    /// Notes why the task failed, if its attempts do not tell: a gate blocked it, say.
    pub(in crate::machine) fn record_final_failure(&mut self, reason: &str) {
        if self.tries.is_none() && self.attempts_of_round() > 0 {
            self.tries = Some(Box::new(AttemptHistory {
                attempt: self.attempts,
                failure_class: self.failure_class,
                exit: Some(reason.to_owned()),
                ..AttemptHistory::default()
            }));
        }
    }

    /// Notes that a gate wants another attempt, and its instruction.
    pub(in crate::machine) fn record_gate_feedback(&mut self, gate: &GateId, todo: &str) {
        let attempt = self.attempts;
        // Before the first attempt there is nothing to correct.
        if self.attempts_of_round() == 0 && self.result.is_none() {
            return;
        }
        let tries = self.tries.get_or_insert_default();
        tries.attempt = attempt;
        tries.gate = Some((gate.to_string(), todo.to_owned()));
    }
}
