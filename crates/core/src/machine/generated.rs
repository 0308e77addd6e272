//! The plans that the run makes: see [`envelope`](crate::envelope).
//!
//! ```text
//! AttemptStarted ──▶ Start ──▶ PlanGenerated ──▶ Watch, with the digest of the text ──▶ AttemptEnded
//!                                   └── with problems: the attempt fails, and nothing of it begins
//! ```

use serde::{Deserialize, Serialize};

use crate::machine::attempt_end::AttemptEnd;
use crate::machine::event::EventKind;
use crate::machine::exit::WorkExit;
use crate::machine::state::MachineState;
use crate::machine::task_id::Attempt;
use crate::machine::task_phase::ActivityKind;
use crate::machine::turn::Machine;
use wf_base::digest::Sha256Digest;
use wf_model::{FailureClass, Plan, StepWork};

/// A plan that the run made, as it was read. Durable before anything of it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanGeneration {
    /// The attempt that runs it.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// SHA-256 of its text, under which that is stored.
    pub text_digest: Sha256Digest,
    /// The reasons why it may not run: mistakes in its text, and what its envelope does not allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Machine {
    /// Applies that a plan was read: one without problems begins.
    pub(in crate::machine) fn on_plan_generated(&mut self, made: PlanGeneration) {
        let Some((task, activity)) = self.current_activity(&made.attempt, ActivityKind::Working) else {
            return;
        };
        let is_awaited = matches!(self.plan.step(task.ix()).work, StepWork::Generated(_))
            && self.state.task_record(task).is_some_and(|record| record.generated.is_none());
        if !is_awaited {
            return;
        }
        let attempt = made.attempt.clone();
        if self.is_halting(task) {
            return self.on_attempt_end(AttemptEnd::new(attempt, WorkExit::Cancelled));
        }
        let problems = made.problems.join("; ");
        self.emit(EventKind::PlanGenerated(made));
        if problems.is_empty() {
            return self.watch(task, attempt, activity.since);
        }
        let reason = format!("the generated plan was refused: {problems}");
        let exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
        self.on_attempt_end(AttemptEnd::new(attempt, exit));
    }
}

impl MachineState {
    /// Applies that a plan was read.
    pub(in crate::machine) fn apply_generation(&mut self, plan: &Plan, made: &PlanGeneration) {
        if let Some(record) = self.named_record_mut(plan, &made.attempt.place) {
            record.generated = Some(made.text_digest);
        }
    }
}
