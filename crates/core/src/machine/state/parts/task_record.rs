//! The part of one task: its attempts, their results, and what it may still use.

mod changes;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{parts::history::AttemptHistory, task_phase::TaskPhase},
    words::{AgentRecord, Artifact, FailureTally, MergePlan, Standing, StepState},
};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_model::{CheckPhase, FailureClass, JsonObject};

/// The state of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the current attempt")]
pub(in crate::machine) struct TaskRecord {
    /// Attempts begun.
    attempts: u32,
    /// The number of them begun in earlier rounds.
    base: u32,
    phase: TaskPhase,
    standing: Standing,
    failure_class: Option<FailureClass>,
    /// The failures with which it ended, by class.
    #[serde(default, skip_serializing_if = "FailureTally::is_empty")]
    failures: FailureTally,
    /// The progress of its agent, in the last attempt.
    #[serde(default)]
    agent: Option<Box<AgentRecord>>,
    /// The digest of the text of its generated plan, in the last attempt.
    #[serde(default)]
    generated: Option<Sha256Digest>,
    /// The source of its agents' untrusted text. It stays for further attempts: the results of
    /// an agent may come from there.
    #[serde(default)]
    untrusted: Option<String>,
    /// The merge of its last attempt, if that worked in a worktree.
    #[serde(default)]
    merge: Option<Box<TaskMerge>>,
    /// The result of the last successful attempt.
    result: Option<Box<AttemptResult>>,
    /// True if its gates have let it in.
    entered: bool,
    /// True if they have let its next attempt begin; false again once that has.
    #[serde(default)]
    admitted: bool,
    /// The time at which its gates, or a person, let it queue last: its wait for a turn counts anew from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    let_in: Option<Moment>,
    /// The arguments as rewritten by its gates.
    tool_args: Option<serde_json::Value>,
    /// The number of times its gates were asked again.
    gate_tries: u32,
    /// The last phase of the attempt's checks that is over, unless it was the final one.
    passed: Option<CheckPhase>,
    /// True if an approver let a phase of the attempt's checks be ignored.
    ignored: bool,
    /// True if a check of the attempt passed although its steps may change everything that it reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_unbounded: bool,
    /// The number of times `inspect` sent the work back.
    inspector_loops: u32,
    /// The number of times `test` did.
    tester_loops: u32,
    /// The calls made in this round by its agents and nested runs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    calls: BTreeSet<String>,
    /// The first failed criterion of the last attempt, or of the nested run in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed_check: Option<String>,
    /// The results of its attempts, once one failed; gone when it has ended.
    tries: Option<Box<AttemptHistory>>,
    /// The guidance of a planner, once it was asked in this round.
    #[serde(default)]
    guidance: Option<Box<TaskGuidance>>,
    /// The answer of people who were asked since the step was stuck in this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person_guidance: Option<String>,
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

/// The guidance for a task in this round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct TaskGuidance {
    /// The attempt that failed before the planner was asked.
    pub(in crate::machine) after: u32,
    /// The reason for that failure.
    pub(in crate::machine) reason: String,
    /// The text; `None`: there is none yet, or the planner gave none.
    pub(in crate::machine) text: Option<String>,
}

/// The merge of a task's attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct TaskMerge {
    /// The verification status of the step once it is merged.
    pub(in crate::machine) standing: Standing,
    /// The result that approvers let be merged.
    pub(in crate::machine) approved: Option<String>,
    /// The merge under way.
    pub(in crate::machine) plan: Option<MergePlan>,
    /// The number of times that it ended.
    pub(in crate::machine) outdated: u32,
}

impl TaskRecord {
    /// Returns the number of attempts begun.
    pub(in crate::machine) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the number of attempts begun in this round.
    pub(in crate::machine) fn attempts_of_round(&self) -> u32 {
        self.attempts.saturating_sub(self.base)
    }

    /// Returns the number of attempts without a claim on `retry`: those of earlier rounds used another alternative, and
    /// rework is counted separately.
    pub(in crate::machine) fn uncounted_attempts(&self) -> u32 {
        self.base + self.inspector_loops.saturating_add(self.tester_loops)
    }

    /// Returns the number of `made` attempts made in this round.
    pub(in crate::machine) fn made_in_round(&self, made: u32) -> u32 {
        made.saturating_sub(self.base)
    }

    pub(in crate::machine) fn phase(&self) -> TaskPhase {
        self.phase
    }

    /// Returns its final state.
    pub(in crate::machine) fn ended(&self) -> Option<StepState> {
        match self.phase {
            TaskPhase::Ended(state) => Some(state),
            _ => None,
        }
    }

    pub(in crate::machine) fn standing(&self) -> Standing {
        self.standing
    }

    pub(in crate::machine) fn failure_class(&self) -> Option<FailureClass> {
        self.failure_class
    }

    /// Returns the failures with which it ended, by class.
    pub(in crate::machine) fn failures(&self) -> FailureTally {
        self.failures
    }

    /// Returns the progress of its agent, in the last attempt.
    pub(in crate::machine) fn agent(&self) -> Option<&AgentRecord> {
        self.agent.as_deref()
    }

    /// Returns the digest of the text of the generated plan of its last attempt.
    pub(in crate::machine) fn generated_plan(&self) -> Option<Sha256Digest> {
        self.generated
    }

    /// Returns the source of untrusted text given to its agents.
    pub(in crate::machine) fn untrusted_source(&self) -> Option<&String> {
        self.untrusted.as_ref()
    }

    /// Returns the merge of its last attempt.
    pub(in crate::machine) fn merge(&self) -> Option<&TaskMerge> {
        self.merge.as_deref()
    }

    /// Returns the result of its last successful attempt.
    pub(in crate::machine) fn result(&self) -> Option<&AttemptResult> {
        self.result.as_deref()
    }

    /// True if it has neither begun an attempt nor a cached result.
    pub(in crate::machine) fn is_fresh(&self) -> bool {
        self.attempts == 0 && self.result.is_none()
    }

    /// True if its gates have let it in.
    pub(in crate::machine) fn has_entered(&self) -> bool {
        self.entered
    }

    /// True if its gates have let its next attempt begin.
    pub(in crate::machine) fn is_admitted(&self) -> bool {
        self.admitted
    }

    /// Returns the time at which its gates, or a person, let it queue last.
    pub(in crate::machine) fn let_in(&self) -> Option<Moment> {
        self.let_in
    }

    /// Returns the arguments as rewritten by its gates.
    pub(in crate::machine) fn tool_args(&self) -> Option<&serde_json::Value> {
        self.tool_args.as_ref()
    }

    /// Returns the number of times its gates were asked again.
    pub(in crate::machine) fn gate_tries(&self) -> u32 {
        self.gate_tries
    }

    /// Returns the last phase of the attempt's checks to be over.
    pub(in crate::machine) fn passed_phase(&self) -> Option<CheckPhase> {
        self.passed
    }

    /// True if its passed checks show little: an approver let a phase be ignored, or its steps may change everything
    /// that a check reads.
    pub(in crate::machine) fn shows_little(&self) -> bool {
        self.ignored || self.is_unbounded
    }

    /// Returns the number of used loops of a phase.
    pub(in crate::machine) fn loops_of(&self, phase: CheckPhase) -> u32 {
        match phase {
            CheckPhase::Inspect => self.inspector_loops,
            CheckPhase::Test => self.tester_loops,
            CheckPhase::Verify => 0,
        }
    }

    /// Returns the calls made in this round by its agents and nested runs.
    pub(in crate::machine) fn calls(&self) -> &BTreeSet<String> {
        &self.calls
    }

    /// Returns the first criterion that the last attempt failed, or a nested run in its place.
    pub(in crate::machine) fn failed_check(&self) -> Option<&String> {
        self.failed_check.as_ref()
    }

    /// Returns the results of its attempts, once one failed.
    pub(in crate::machine) fn history(&self) -> Option<&AttemptHistory> {
        self.tries.as_deref()
    }

    /// Returns the results of this round's attempts; those of an earlier one feed a correction.
    pub(in crate::machine) fn history_of_round(&self) -> Option<&AttemptHistory> {
        self.history().filter(|tries| self.base == 0 || tries.attempt > self.base)
    }

    /// Returns the guidance of a planner, once it was asked in this round.
    pub(in crate::machine) fn guidance(&self) -> Option<&TaskGuidance> {
        self.guidance.as_deref()
    }

    /// True if guidance was given after an attempt: then one more attempt may use it.
    pub(in crate::machine) fn has_guidance_after(&self, attempt: u32) -> bool {
        self.guidance().is_some_and(|guidance| guidance.after == attempt && guidance.text.is_some())
    }

    /// Returns the answer of people about the stuck step in this round.
    pub(in crate::machine) fn person_guidance(&self) -> Option<&String> {
        self.person_guidance.as_ref()
    }
}
