//! What worlds answer.

use wf::digest::Digest;
use wf::machine::{Artifact, Attempt, Ended, Exit, Happening, Ruling, Verdict};
use wf::model::{CheckPhase, Class, Object};

use super::world::name;

/// The file that an attempt leaves.
pub fn file_of(attempt: &Attempt) -> Artifact {
    Artifact {
        path: format!("{}.txt", attempt.place),
        digest: Digest::of(attempt.to_string().as_bytes()),
        size: 7,
    }
}

pub fn ended(attempt: Attempt, exit: Exit) -> Happening {
    Happening::Ended(Ended {
        attempt,
        exit,
        outputs: Object::new(),
        artifacts: Vec::new(),
        standing: None,
        class: None,
        seen: Vec::new(),
        usage: wf::machine::Usage::default(),
        service: false,
    })
}

pub fn verdict(ruling: Ruling) -> Verdict {
    Verdict {
        name: name("good"),
        phase: CheckPhase::Verify,
        ruling,
        expected: String::new(),
        found: String::new(),
        evidence: String::new(),
        class: (ruling != Ruling::Pass).then_some(Class::Logical),
        millis: 0,
        mode: wf::model::Mode::default(),
        guards: None,
        hidden: Vec::new(),
    }
}
