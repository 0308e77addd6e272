//! The generation of a plan by a step: the text is read, checked against the envelope and stored, before the plan may begin.

use std::collections::BTreeMap;

use wf_core::{
    envelope::MAX_PLAN_BYTES,
    machine::{InputKind, PlanGeneration, WorkExit},
};
use wf_exec::WorkError;
use wf_model::{GeneratedPlan, Plan, Step, StepWork};

use crate::{
    nested::{
        generated::{UNCONFINED, bodies, missing_outputs, read_in_envelope, shorten},
        plan_run,
    },
    run::{AttemptTask, attempt_task::step_of},
    session::{EngineError, UnitResult},
};

/// Reads and stores the plan of an attempt, and reports if it may run. An open step has nothing to do.
pub(crate) async fn read_generated_plan(task: AttemptTask) -> UnitResult {
    if step_of(&task.run, &task.attempt.task_id).is_open() {
        return task.collect(task.end_without_outputs(WorkExit::Completed), None).await;
    }
    match generate(&task).await? {
        Ok(generation) => Ok(Some(InputKind::Generated(generation))),
        Err(unable) => task.collect(task.end_without_outputs(unable.into()), None).await,
    }
}

/// Returns the plan as it was read. The error is a reason for which there is none.
async fn generate(task: &AttemptTask) -> Result<Result<PlanGeneration, WorkError>, EngineError> {
    let run = &task.run;
    let step = step_of(run, &task.attempt.task_id);
    let StepWork::Generated(made) = &step.work else {
        return Err(EngineError::Stuck);
    };
    if run.session.sandboxes.is_none() {
        return Ok(Err(WorkError::logical(UNCONFINED)));
    }
    let template = made.text.as_ref().ok_or(EngineError::Stuck)?;
    let text = match task.with_template_values(&BTreeMap::new(), |values| template.render(values)) {
        Ok(text) => text,
        Err(error) => return Ok(Err(WorkError::logical(error.to_string()))),
    };
    if text.len() > MAX_PLAN_BYTES {
        let reason =
            format!("the generated plan has {} bytes; at most {MAX_PLAN_BYTES} are read", text.len());
        return Ok(Err(WorkError::logical(reason)));
    }
    let text_digest = bodies(run).put_bytes(text.as_bytes())?;
    let mut problems = Vec::new();
    if let Some(from) = step.untrusted_input().filter(|_| !made.envelope.untrusted) {
        problems
            .push(format!("its text may be from outside: {from}; `untrusted: true` in `within` allows that"));
    }
    match read_in_envelope(run, made, &text) {
        Ok(plan) => problems.extend(misfits(task, &step, made, &plan)),
        Err(more) => problems.extend(more),
    }
    let problems = shorten(run, &problems).await;
    Ok(Ok(PlanGeneration { attempt: task.attempt.clone(), text_digest, problems }))
}

/// Returns the parameters and outputs in which a plan is not what the step says of it.
fn misfits(task: &AttemptTask, step: &Step, generated: &GeneratedPlan, plan: &Plan) -> Vec<String> {
    let params = plan_run::params(task, &generated.with, plan, &generated.path);
    params.err().map(|unable| unable.reason).into_iter().chain(missing_outputs(step, plan)).collect()
}
