//! The plans that runs make: what the log says of them, and what the world answers.

use std::collections::BTreeMap;

use wf_base::digest::Sha256Digest;
use wf_core::machine::{Attempt, Effect, EventKind, InputKind, PlanGeneration, TaskId};
use wf_model::{GeneratedPlan, PlanEnvelope, StepWork, expr::Template};

use super::{engine::Job, world::World};

/// What the log says of the plans that were read: the last one of each place, and the attempts that began with one.
#[derive(Clone, Debug, Default)]
pub struct Generated {
    pub of: BTreeMap<TaskId, PlanGeneration>,
}

impl Generated {
    pub fn take(&mut self, fact: &EventKind) {
        if let EventKind::PlanGenerated(made) = fact {
            self.of.insert(made.attempt.task_id.clone(), made.clone());
        }
    }

    /// The plan that was read for an attempt.
    pub fn for_attempt(&self, attempt: &Attempt) -> Option<&PlanGeneration> {
        self.of.get(&attempt.task_id).filter(|made| made.attempt == *attempt)
    }
}

/// A step that runs a plan of the run.
pub fn work() -> StepWork {
    of(Some(Template::literal("a text")))
}

/// An open step: a planner may write its plan.
pub fn open() -> StepWork {
    of(None)
}

fn of(text: Option<Template>) -> StepWork {
    let envelope = PlanEnvelope::default();
    StepWork::Generated(Box::new(GeneratedPlan { text, path: "made.md".into(), with: Vec::new(), envelope }))
}

/// What an engine does to read a plan; `None` if an effect asks for something else.
pub fn job(effect: &Effect, is_generated: bool) -> Option<Job> {
    match effect {
        Effect::Start { attempt, .. } | Effect::Watch { attempt, generated: None, .. } if is_generated => {
            Some(Job::Generate { attempt: attempt.clone() })
        }
        _ => None,
    }
}

impl World {
    /// What comes of the text of a plan: the same text is the same plan, however often it is read.
    pub fn generated(&self, at: usize, attempt: Attempt) -> InputKind {
        let mut dice = self.fates.dice(at, &format!("plan of {attempt}"));
        let problems = if dice.one_in(4) { vec!["it may write `src`".to_owned()] } else { Vec::new() };
        let text_digest = Sha256Digest::of_bytes(attempt.to_string().as_bytes());
        InputKind::Generated(PlanGeneration { attempt, text_digest, problems })
    }
}
