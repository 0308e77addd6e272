//! What worlds answer.

use std::sync::Arc;

use wf_base::{digest::Sha256Digest, name::GateId};
use wf_core::{
    gate::{GateAction, GateResult},
    machine::{Artifact, Attempt, AttemptEnd, CheckRuling, CheckVerdict, InputKind, WorkExit},
};
use wf_model::{
    ApprovalRequirement, CheckPhase, FailureClass, Gate, GateLane, GatePredicate, GateProvider, GateTrigger,
    Money, Step,
};

use super::world::name;

/// The file that an attempt leaves.
pub fn file_of(attempt: &Attempt) -> Artifact {
    Artifact {
        path: format!("{}.txt", attempt.task_id),
        digest: Sha256Digest::of_bytes(attempt.to_string().as_bytes()),
        size: 7,
        released_by: None,
    }
}

pub fn ended(attempt: Attempt, exit: WorkExit) -> InputKind {
    InputKind::Ended(AttemptEnd::new(attempt, exit))
}

pub fn verdict(ruling: CheckRuling) -> CheckVerdict {
    CheckVerdict {
        name: name("good"),
        phase: CheckPhase::Verify,
        ruling,
        expected: String::new(),
        found: String::new(),
        evidence: String::new(),
        failure_class: (ruling != CheckRuling::Pass).then_some(FailureClass::Logical),
        duration_ms: 0,
        certainty: wf_model::CheckCertainty::default(),
        isolation: None,
        hidden: Vec::new(),
        changes: None,
        changed_inputs: Vec::new(),
        foreign_changes: None,
        is_unbounded: false,
        tests: None,
        before: None,
        judgement: None,
    }
}

/// Lets a gate be asked before each tool call of a step, or each attempt.
pub fn guarded(step: &mut Step) {
    guarded_at(step, GateTrigger::OnToolCall);
}

/// Lets a gate be asked at a trigger.
pub fn guarded_at(step: &mut Step, on: GateTrigger) {
    step.gates.push(Arc::new(Gate {
        id: GateId::parse("guard").unwrap(),
        title: None,
        path: None,
        on,
        lane: GateLane::Policy,
        provider: GateProvider::Predicate(GatePredicate::ApprovalAlways),
        extract: None,
        on_block: None,
        escalations: Vec::new(),
        approval: ApprovalRequirement::default(),
    }));
}

/// What that gate says.
pub fn guard(action: GateAction, reason: &str) -> GateResult {
    GateResult {
        gate: GateId::parse("guard").unwrap(),
        trigger: GateTrigger::OnToolCall,
        lane: GateLane::Policy,
        action,
        reason: reason.into(),
        score: None,
        flags: Vec::new(),
        changed: Vec::new(),
        rejected: Vec::new(),
        ignored: None,
        failed: false,
        duration_ms: 0,
        tokens: 0,
        cost: Money::default(),
        asked: None,
    }
}
