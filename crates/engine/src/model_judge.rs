//! Models as judges of gates.

use wf_base::name::Name;
use wf_core::gate::llm::{ANSWER_TIMEOUT, JUDGE_ROLE, question, read};
use wf_core::gate::{GateAnswer, GateContext};
use wf_model::{LlmJudge, ModelChoice, Money};

use super::run::RunContext;

/// The answer of a model to a gate, and the amounts that it used.
pub(super) struct ModelJudgement {
    pub(super) answer: Result<GateAnswer, String>,
    pub(super) tokens: u64,
    pub(super) cost: Money,
}

impl ModelJudgement {
    /// Asks the model with the role of a judge. Whatever keeps it from answering is a reason, never a pass.
    pub(super) async fn ask(run: &RunContext, judge: &LlmJudge, context: &GateContext) -> Self {
        let without = |reason: String| Self { answer: Err(reason), tokens: 0, cost: Money::default() };
        let session = &run.session;
        let role = Name::parse(JUDGE_ROLE).ok().map(ModelChoice::Role);
        let Some(model) = role.and_then(|role| session.models.find(&role)) else {
            return without(format!("wf.yaml gives no model the role `{JUDGE_ROLE}`: add it under `roles`"));
        };
        let request = question(judge, context);
        let called = tokio::time::timeout(ANSWER_TIMEOUT, run.call_model(model, &request)).await;
        let Ok(called) = called else {
            return without(format!("model `{}` did not answer within {ANSWER_TIMEOUT:?}", model.name));
        };
        let answer = match called.outcome {
            Ok(reply) => read(&reply.text, judge.promote_to_policy),
            Err(error) => Err(error.to_string()),
        };
        Self { answer, tokens: called.usage.total(), cost: called.cost }
    }
}
