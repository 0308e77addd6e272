//! The attempt that work is done for, and the step of its task.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::{
    health::BreakerNote,
    machine::{Attempt, AttemptEnd, AttemptFeedback, Effect, StepItem, TaskId, WorkExit, untrusted_input},
};
use wf_model::{JsonObject, Plan, Step, StepIx};

use super::{context::RunContext, scope::TemplateValues};

/// The work of one attempt.
pub(crate) struct AttemptTask {
    pub(crate) run: Arc<RunContext>,
    pub(crate) attempt: Attempt,
    pub(crate) item: Option<StepItem>,
    pub(crate) reads: JsonObject,
    /// The time when it began, if the engine died since.
    pub(crate) since: Option<Moment>,
    /// The feedback on the attempt before, if there was one.
    pub(crate) feedback: Option<Box<AttemptFeedback>>,
    /// The arguments as rewritten by gates.
    pub(crate) tool_args: Option<Box<serde_json::Value>>,
    /// The digest of the text of the plan it runs, if the run made that plan and it may begin.
    pub(crate) generated: Option<Sha256Digest>,
    /// The changes of breakers it caused, except by calls of models, which record theirs.
    pub(crate) breakers: BreakerNotes,
}

impl AttemptTask {
    /// Creates the work of an attempt that begins now and gets no feedback.
    pub(crate) fn new(
        run: Arc<RunContext>,
        attempt: Attempt,
        item: Option<StepItem>,
        reads: JsonObject,
    ) -> Self {
        Self {
            run,
            attempt,
            item,
            reads,
            since: None,
            feedback: None,
            tool_args: None,
            generated: None,
            breakers: BreakerNotes::default(),
        }
    }

    /// Returns the work of an attempt an effect begins, or goes on with; `None`: it is for none, or another work.
    pub(crate) fn from_effect(run: Arc<RunContext>, effect: Effect) -> Option<Self> {
        match effect {
            Effect::Start { attempt, item_value, reads, correction, tool_args } => {
                let task = Self::new(run, attempt, item_value, reads);
                Some(Self { feedback: correction, tool_args, ..task })
            }
            Effect::Watch { attempt, since, item_value, reads, correction, tool_args, generated, .. } => {
                let task = Self::new(run, attempt, item_value, reads);
                Some(Self { since: Some(since), feedback: correction, tool_args, generated, ..task })
            }
            _ => None,
        }
    }

    pub(crate) fn end_without_outputs(&self, exit: WorkExit) -> AttemptEnd {
        AttemptEnd::new(self.attempt.clone(), exit)
    }

    /// Calls a function with the values this attempt's templates read.
    pub(crate) fn with_template_values<T>(
        &self,
        secrets: &BTreeMap<String, String>,
        with: impl FnOnce(&TemplateValues<'_>) -> T,
    ) -> T {
        with(&TemplateValues {
            run: &self.run.run_ref,
            params: self.run.params(),
            reads: &self.reads,
            item: self.item.as_ref(),
            index: self.attempt.task_id.item,
            secrets,
        })
    }
}

/// The changes of breakers an attempt caused, until its end is recorded with them.
#[derive(Default)]
pub(crate) struct BreakerNotes(Mutex<Vec<BreakerNote>>);

impl BreakerNotes {
    pub(crate) fn extend(&self, notes: impl IntoIterator<Item = BreakerNote>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(notes);
    }

    pub(crate) fn take_notes(&self) -> Vec<BreakerNote> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A step of a plan, with the plan.
pub(crate) struct PlanStep {
    plan: Arc<Plan>,
    ix: StepIx,
}

impl PlanStep {
    /// Returns the source of its inputs that is not trusted, if there is one.
    pub(crate) fn untrusted_input(&self) -> Option<String> {
        untrusted_input(&self.plan, self.ix)
    }
}

impl std::ops::Deref for PlanStep {
    type Target = Step;

    fn deref(&self) -> &Step {
        self.plan.step(self.ix)
    }
}

/// Returns the step of a task, as written: the parts no alternative replaces.
pub(crate) fn written_step<'a>(run: &'a RunContext, task_id: &TaskId) -> &'a Step {
    let ix = run.plan.find(task_id.step.as_str());
    run.plan.step(ix.expect("the machine names only steps of its plan"))
}

/// Returns the step of a task, with the alternative now in use.
pub(crate) fn step_of(run: &RunContext, task_id: &TaskId) -> PlanStep {
    let plan = run.current_plan();
    let ix = plan.find(task_id.step.as_str());
    let ix = ix.expect("the machine names only steps of its plan");
    PlanStep { plan, ix }
}
