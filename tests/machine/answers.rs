//! What worlds answer.

use wf_base::digest::Sha256Digest;
use wf_core::machine::{Artifact, Attempt, AttemptEnd, CheckRuling, CheckVerdict, InputKind, WorkExit};
use wf_model::{CheckPhase, FailureClass, JsonObject};

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
    InputKind::Ended(AttemptEnd {
        attempt,
        exit,
        outputs: JsonObject::new(),
        artifacts: Vec::new(),
        standing: None,
        failure_class: None,
        seen: Vec::new(),
        usage: wf_core::machine::AttemptUsage::default(),
        service: false,
    })
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
