//! The call of a planner about a step whose attempts fail: the machine decides what its answer means.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::agent::{ModelRequest, guidance_question, read_guidance};
use wf_core::machine::{AttemptUsage, GuidanceReply, GuidanceRequest, InputKind, PlannerReply};
use wf_exec::StopLevel;
use wf_model::{ModelChoice, ModelDefinition, Plan, Planner, PlannerSource};

use super::dispatch::UnitResult;
use super::run::RunContext;
use super::supply::wait_for_stop;

/// The maximum time of a question, repair included (Silas 19.4.1).
const TIMEOUT: Duration = Duration::from_secs(90);

/// The calls of a planner about one step, and what they have used.
struct GuidanceCalls<'a> {
    run: &'a RunContext,
    model: &'a ModelDefinition,
    calls: u32,
    usage: AttemptUsage,
}

/// Asks the planner, and returns its output.
pub(super) async fn ask(
    run: Arc<RunContext>,
    request: Box<GuidanceRequest>,
    stop: watch::Receiver<StopLevel>,
) -> UnitResult {
    let role = role(&run.plan);
    let mut reply = GuidanceReply {
        attempt: request.attempt.clone(),
        said: PlannerReply::Nothing(format!(
            "wf.yaml gives no model the role `{role}`: add it under `roles`"
        )),
        calls: 0,
        usage: AttemptUsage::default(),
    };
    if let Some(model) = run.session.models.find(&ModelChoice::Role(role)) {
        let mut calls = GuidanceCalls { run: &run, model, calls: 0, usage: AttemptUsage::default() };
        let said = tokio::select! {
            said = tokio::time::timeout(TIMEOUT, calls.ask(&request)) => {
                said.unwrap_or_else(|_| Err(format!("it did not answer within {TIMEOUT:?}")))
            }
            () = wait_for_stop(stop) => Err("it was stopped".into()),
        };
        reply.said = said.map_or_else(PlannerReply::Nothing, PlannerReply::Text);
        (reply.calls, reply.usage) = (calls.calls, calls.usage);
    }
    run.session.executor.ensure_supervised()?;
    Ok(Some(InputKind::Guided(reply)))
}

/// Returns the role of the planner of a plan; a program is asked for alternatives alone.
fn role(plan: &Plan) -> Name {
    match &plan.parts().planner {
        Some(Planner { source: PlannerSource::Role(role), .. }) => role.clone(),
        _ => Name::parse(Planner::USUAL_ROLE).expect("this is a name"),
    }
}

impl GuidanceCalls<'_> {
    /// Asks once; an answer that cannot be used is repaired once.
    async fn ask(&mut self, request: &GuidanceRequest) -> Result<String, String> {
        let mut question = guidance_question(request);
        let answer = self.call(&question).await?;
        let Err(mistake) = read_guidance(&answer.text, &request.must_not) else {
            return Ok(answer.text);
        };
        question.append_turn(answer, Vec::new(), Some(&mistake));
        let again = self.call(&question).await?;
        Ok(again.text)
    }

    /// Makes a call, unless the model could not answer it or the budget of the run does not allow it.
    async fn call(&mut self, question: &ModelRequest) -> Result<wf_core::agent::ModelReply, String> {
        let input = question.estimated_tokens();
        let output = question.max_output.min(self.model.max_output);
        let (tokens, window) = (input.saturating_add(output), self.model.context_window);
        if tokens > window {
            let name = &self.model.name;
            return Err(format!("the question is too long for model `{name}`: {tokens} of {window} tokens"));
        }
        let cost = self.model.price.map(|price| price.cost(input, 0, output)).unwrap_or_default();
        let wanted = self.usage.plus(AttemptUsage { attempts: 0, tokens, cost });
        if let Some(over) = self.run.budget_refusal(wanted) {
            return Err(format!("the budget does not allow to ask it: it may use {over}"));
        }
        self.calls = self.calls.saturating_add(1);
        let called = self.run.call_model(self.model, question).await;
        let used = AttemptUsage { attempts: 0, tokens: called.usage.total(), cost: called.cost };
        self.usage = self.usage.plus(used);
        called.outcome.map_err(|error| error.to_string())
    }
}
