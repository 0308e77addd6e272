//! Models as judges of gates.

use wf_base::name::Name;
use wf_core::gate::llm::{ANSWER_TIMEOUT, JUDGE_ROLE, question, read};
use wf_core::gate::{GateAnswer, GateContext};
use wf_core::machine::AskedModel;
use wf_model::{LlmJudge, ModelChoice};

use crate::models::asker::ModelAsker;
use crate::run::RunContext;

/// The answer of a model to a gate, and its call.
pub(super) struct ModelJudgement {
    pub(crate) answer: Result<GateAnswer, String>,
    /// The call; `None`: none was made.
    pub(crate) asked: Option<AskedModel>,
}

impl ModelJudgement {
    /// Asks the model with the role of a judge. Whatever keeps it from answering is a reason, never a pass.
    pub(crate) async fn ask(run: &RunContext, judge: &LlmJudge, context: &GateContext) -> Self {
        let role = Name::parse(JUDGE_ROLE).ok().map(ModelChoice::Role);
        let Some(model) = role.and_then(|role| run.session.models.find(&role)) else {
            let reason = format!("wf.yaml gives no model the role `{JUDGE_ROLE}`: add it under `roles`");
            return Self { answer: Err(reason), asked: None };
        };
        let request = question(judge, context);
        let mut asker = ModelAsker::new(run, model);
        let answer = match tokio::time::timeout(ANSWER_TIMEOUT, asker.ask(&request)).await {
            Ok(Ok(reply)) => read(&reply.text, judge.promote_to_policy),
            Ok(Err(unasked)) => Err(unasked.reason),
            Err(_) => Err(format!("model `{}` did not answer within {ANSWER_TIMEOUT:?}", model.name)),
        };
        Self { answer, asked: asker.asked.pop() }
    }
}
