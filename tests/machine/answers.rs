//! What worlds answer.

use wf_base::digest::Sha256Digest;
use wf_core::machine::{Artifact, Attempt, AttemptEnd, CheckRuling, CheckVerdict, InputKind, WorkExit};
use wf_model::{CheckPhase, FailureClass};

use super::world::name;

/// The file that an attempt leaves.
pub fn file_of(attempt: &Attempt) -> Artifact {
    Artifact {
        path: format!("{}.txt", attempt.place),
        digest: Sha256Digest::of_bytes(attempt.to_string().as_bytes()),
        size: 7,
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
    }
}
