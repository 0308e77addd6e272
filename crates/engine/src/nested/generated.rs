//! The plans the run makes, read and held to their envelope: see [`wf_core::envelope`].

use std::sync::Arc;

use wf_base::digest::Sha256Digest;
use wf_core::{envelope, machine};
use wf_exec::WorkError;
use wf_model::{GeneratedPlan, Plan, Step, StepWork};
use wf_store::CallBodyStore;

use crate::{run::RunContext, session::EngineSession};

/// The maximum numbers of recorded problems and of their characters.
const MOST_PROBLEMS: usize = 20;
const MOST_CHARS: usize = 400;

/// The reason why no generated plan begins without the sandbox.
pub(crate) const UNCONFINED: &str = "a generated plan runs only in the sandbox, which is off here; remove `sandbox: off` from \
                          wf.yaml";

/// Returns a plan a run made, with its text, by the digest of that.
pub(super) fn stored_plan(
    run: &RunContext,
    generated_plan: &GeneratedPlan,
    digest: Sha256Digest,
) -> Result<GeneratedText, WorkError> {
    let stored = bodies(run).read(&digest).map(String::from_utf8);
    let Ok(Ok(text)) = stored else {
        return Err(WorkError::environmental(format!("the text of the generated plan, {digest}, is lost")));
    };
    match read_in_envelope(run, generated_plan, &text) {
        Ok(plan) => Ok((plan, text)),
        Err(problems) => {
            Err(WorkError::logical(format!("the generated plan is refused: {}", problems.join("; "))))
        }
    }
}

/// A plan a run made, and its text.
type GeneratedText = (Arc<Plan>, String);

/// Returns the problems of the plans in the output of a planner, each with its step: they are read before the proposal
/// is accepted, and read again by the attempt running them.
pub(crate) async fn proposal_problems(run: &RunContext, proposal: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (id, text) in machine::proposed_plans(proposal) {
        let step = run.plan.find(id.as_str()).map(|ix| run.plan.step(ix));
        let Some((step, StepWork::Generated(generated))) = step.map(|step| (step, &step.work)) else {
            continue;
        };
        let problems_of_plan = if run.session.sandboxes.is_none() {
            vec![UNCONFINED.to_owned()]
        } else {
            match read_in_envelope(run, generated, &text) {
                Ok(plan) => missing_outputs(step, &plan).collect(),
                Err(problems_of_it) => problems_of_it,
            }
        };
        problems.extend(problems_of_plan.into_iter().map(|problem| format!("step `{id}`: {problem}")));
    }
    shorten(run, &problems).await
}

/// Returns a sentence for each output a step declares and a plan does not have.
pub(crate) fn missing_outputs(step: &Step, plan: &Plan) -> impl Iterator<Item = String> {
    envelope::missing_outputs(step, plan).map(|breach| breach.reason)
}

/// Returns problems without secrets, and no more of them than an event should have.
pub(crate) async fn shorten(run: &RunContext, problems: &[String]) -> Vec<String> {
    let mask = run.mask().await;
    let shorten = |problem: &String| mask.text(problem).chars().take(MOST_CHARS).collect();
    let mut shortened: Vec<String> = problems.iter().take(MOST_PROBLEMS).map(shorten).collect();
    if let Some(more) = problems.len().checked_sub(MOST_PROBLEMS).filter(|more| *more > 0) {
        shortened.push(format!("and {more} more"));
    }
    shortened
}

/// Returns a text as the plan it runs as; else all its problems.
pub(crate) fn read_in_envelope(
    run: &RunContext,
    generated: &GeneratedPlan,
    text: &str,
) -> Result<Arc<Plan>, Vec<String>> {
    let plan = run.session.plans.read_plan(&generated.path, text)?;
    let breaches = envelope::breaches(&generated.envelope, &run.plan, &plan);
    if !breaches.is_empty() {
        return Err(breaches.into_iter().map(|breach| breach.reason).collect());
    }
    envelope::bounded(&generated.envelope, &run.plan, &plan).map_err(|error| vec![error.to_string()])
}

/// Returns the store of the texts of a run.
pub(crate) fn bodies(run: &RunContext) -> CallBodyStore {
    let EngineSession { store, .. } = &*run.session;
    CallBodyStore::of(store.blobs(), store.folder().calls(&run.run_ref.id))
}
