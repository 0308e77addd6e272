//! The changes of a task, each for the fold of one fact.

use crate::machine::{
    state::{
        parts::{
            history::AttemptHistory,
            task_record::{AttemptResult, TaskGuidance, TaskMerge, TaskRecord},
        },
        task_phase::TaskPhase,
    },
    words::{
        AgentBriefing, AgentRecord, CachedResult, CheckVerdict, EventKind, MergePlan, NestedFindings,
        ReworkLoop, Standing, StepState, WorkExit,
    },
};
use wf_base::{digest::Sha256Digest, name::GateId, time::Moment};
use wf_model::{CheckPhase, FailureClass, JsonObject};

impl TaskRecord {
    /// Moves it to another phase. Returns the phase before.
    pub(in crate::machine::state) fn move_to(&mut self, phase: TaskPhase) -> TaskPhase {
        std::mem::replace(&mut self.phase, phase)
    }

    /// Starts an attempt; `0`: a cached result takes its place.
    pub(in crate::machine::state) fn start_attempt(&mut self, attempt: u32) {
        self.attempts = attempt;
        // Its gates have passed for just this one.
        self.admitted &= attempt == 0;
        self.passed = None;
        self.ignored = false;
        self.is_unbounded = false;
        // The result of an earlier attempt was not confirmed.
        self.result = None;
        self.agent = None;
        self.generated = None;
        self.merge = None;
    }

    /// Stores the result of an attempt, or of the cache.
    pub(in crate::machine::state) fn store_result(&mut self, result: AttemptResult) {
        self.result = Some(Box::new(result));
    }

    /// Replaces the outputs of its result.
    pub(in crate::machine::state) fn rewrite_outputs(&mut self, outputs: JsonObject) {
        if let Some(result) = &mut self.result {
            result.outputs = outputs;
        }
    }

    /// Notes the end of an attempt's work, and the findings of the nested run in it.
    pub(in crate::machine::state) fn end_attempt(
        &mut self,
        attempt: u32,
        exit: &WorkExit,
        failure_class: Option<FailureClass>,
        findings: &NestedFindings,
    ) {
        self.note_calls(&findings.calls);
        self.failed_check.clone_from(&findings.failed_check);
        // Work that succeeded at once needs no correction.
        if exit.is_success() && self.tries.is_none() {
            return;
        }
        let tries = self.tries.get_or_insert_default();
        let gaps = std::mem::take(&mut tries.gaps);
        let exit = (!exit.is_success()).then(|| exit.to_string());
        let inside = findings.inside;
        **tries = AttemptHistory { attempt, failure_class, exit, inside, gaps, ..AttemptHistory::default() };
    }

    /// Notes calls of an attempt.
    pub(in crate::machine::state) fn note_calls(&mut self, calls: &[String]) {
        self.calls.extend(calls.iter().cloned());
    }

    /// Notes the ruling of a check on an attempt.
    pub(in crate::machine::state) fn note_verdict(&mut self, attempt: u32, verdict: &CheckVerdict) {
        self.is_unbounded |= verdict.is_unbounded;
        if !verdict.passed() && self.failed_check.is_none() {
            self.failed_check = Some(verdict.name.to_string());
        }
        self.tries.get_or_insert_default().add_verdict(attempt, verdict);
    }

    /// Notes that a phase of its checks is over.
    pub(in crate::machine::state) fn pass_phase(&mut self, phase: CheckPhase) {
        self.passed = Some(phase);
    }

    /// Notes that an approver let a phase be ignored, and with it its findings.
    pub(in crate::machine::state) fn ignore_phase(&mut self) {
        self.ignored = true;
        if let Some(tries) = &mut self.tries {
            tries.failed.clear();
        }
    }

    /// Notes the phase that sent the work back, if one did.
    pub(in crate::machine::state) fn note_loop(&mut self, looped: Option<ReworkLoop>) {
        if let Some(tries) = &mut self.tries {
            tries.looped = looped;
        }
        match looped.map(|looped| looped.phase) {
            Some(CheckPhase::Inspect) => self.inspector_loops += 1,
            Some(CheckPhase::Test) => self.tester_loops += 1,
            Some(CheckPhase::Verify) | None => {}
        }
    }

    /// Lets its next attempt begin; `is_entry`: its gates are not asked after an attempt.
    pub(in crate::machine::state) fn pass_gates(
        &mut self,
        at: Moment,
        is_entry: bool,
        tool_args: Option<&serde_json::Value>,
    ) {
        // Repeated gates after an attempt go on counting.
        if is_entry {
            self.gate_tries = 0;
        }
        (self.entered, self.admitted, self.let_in) = (true, true, Some(at));
        self.tool_args = tool_args.cloned();
    }

    /// Notes that a gate wants another attempt, and its instruction.
    pub(in crate::machine::state) fn retry_gates(&mut self, gate: &GateId, todo: &str) {
        self.gate_tries += 1;
        // Before the first attempt there is nothing to correct.
        if self.attempts_of_round() == 0 && self.result.is_none() {
            return;
        }
        let tries = self.tries.get_or_insert_default();
        tries.attempt = self.attempts;
        tries.gate = Some((gate.to_string(), todo.to_owned()));
    }

    /// Notes a question to the planner about an attempt.
    pub(in crate::machine::state) fn ask_guidance(&mut self, after: u32, reason: String) {
        self.guidance = Some(Box::new(TaskGuidance { after, reason, text: None }));
    }

    /// Notes the guidance of the planner.
    pub(in crate::machine::state) fn give_guidance(&mut self, text: String) {
        if let Some(guidance) = &mut self.guidance {
            guidance.text = Some(text);
        }
    }

    /// Notes the guidance of people, who let it queue again.
    pub(in crate::machine::state) fn give_person_guidance(&mut self, at: Moment, text: String) {
        self.let_in = Some(at);
        self.person_guidance = Some(text);
    }

    /// Notes the digest of the plan that the run made for it.
    pub(in crate::machine::state) fn note_generated_plan(&mut self, text_digest: Sha256Digest) {
        self.generated = Some(text_digest);
    }

    /// Notes a request for the merge of its attempt.
    pub(in crate::machine::state) fn request_merge(&mut self, standing: Standing) {
        self.merge = Some(Box::new(TaskMerge { standing, approved: None, plan: None, outdated: 0 }));
    }

    /// Notes that its merge begins.
    pub(in crate::machine::state) fn start_merge(&mut self, plan: MergePlan) {
        if let Some(merge) = &mut self.merge {
            merge.plan = Some(plan);
        }
    }

    /// Notes that its merge ended.
    pub(in crate::machine::state) fn end_merge(&mut self) {
        if let Some(merge) = &mut self.merge {
            merge.plan = None;
            merge.outdated += 1;
        }
    }

    /// Notes the result that approvers let be merged.
    pub(in crate::machine::state) fn approve_merge(&mut self, result: String) {
        if let Some(merge) = &mut self.merge {
            merge.approved = Some(result);
        }
    }

    /// Begins the record of its agent.
    pub(in crate::machine::state) fn brief_agent(&mut self, briefing: &AgentBriefing) {
        self.agent = Some(Box::new(AgentRecord::new(briefing)));
        self.note_untrusted(briefing.untrusted.as_ref());
    }

    /// Returns the record of its agent, to be changed.
    pub(in crate::machine::state) fn agent_mut(&mut self) -> Option<&mut AgentRecord> {
        self.agent.as_deref_mut()
    }

    /// Notes the source of untrusted text given to an agent; the first one stays.
    pub(in crate::machine::state) fn note_untrusted(&mut self, source: Option<&String>) {
        if self.untrusted.is_none() {
            self.untrusted = source.cloned();
        }
    }

    /// Notes its failure, if it is one. The history stays if the controller reads it: `reason` is the failure where its
    /// attempts do not tell it, as of a gate that blocked.
    pub(in crate::machine::state) fn end(
        &mut self,
        state: StepState,
        failure_class: Option<FailureClass>,
        kept_reason: Option<&str>,
    ) {
        self.failure_class = failure_class;
        self.failures = self.tries.as_ref().map(|tries| tries.failures()).unwrap_or_default();
        if self.failures.is_empty() && state == StepState::Failed {
            self.failures.add(failure_class);
        }
        match kept_reason {
            None => self.tries = None,
            Some(reason) if self.tries.is_none() && self.attempts_of_round() > 0 => {
                self.tries = Some(Box::new(AttemptHistory {
                    attempt: self.attempts,
                    failure_class,
                    exit: Some(reason.to_owned()),
                    ..AttemptHistory::default()
                }));
            }
            Some(_) => {}
        }
    }

    /// Notes the verification status with which it ended.
    pub(in crate::machine::state) fn set_standing(&mut self, standing: Standing) {
        self.standing = standing;
    }

    /// Returns a reopened task. Its attempts go on counting, and the next one is still told what
    /// was wrong with the last.
    pub(in crate::machine::state) fn for_next_round(&self) -> Self {
        Self {
            attempts: self.attempts,
            base: self.attempts,
            tries: self.tries.clone(),
            untrusted: self.untrusted.clone(),
            ..Self::default()
        }
    }

    /// Returns a reopened task, without the history of another item.
    pub(in crate::machine::state) fn without_history(self) -> Self {
        Self { tries: None, ..self }
    }
}

impl AttemptResult {
    /// Returns the result of an attempt's work.
    pub(in crate::machine::state) fn of_work(ended: &EventKind) -> Self {
        let EventKind::AttemptEnded { outputs, artifacts, standing, swapped_file, .. } = ended else {
            return Self::default();
        };
        Self {
            outputs: outputs.clone(),
            artifacts: artifacts.clone(),
            cached: None,
            standing: *standing,
            swapped_file: swapped_file.clone(),
        }
    }

    pub(in crate::machine::state) fn from_cache(cached: &CachedResult) -> Self {
        Self {
            outputs: cached.outputs.clone(),
            artifacts: cached.artifacts.clone(),
            cached: Some(cached.cache_key),
            standing: None,
            swapped_file: None,
        }
    }
}
