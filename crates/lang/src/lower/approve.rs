use serde_json::json;

use super::gate::needs;
use crate::ast::ApproveSpec;
use wf_base::name::Name;
use wf_model::{AnswerChoices, AnswerKind, ApprovalStep, RequiredOutput, ValueSchema};

/// Returns the decision that a step waits for.
pub(super) fn decision(approve: &ApproveSpec) -> ApprovalStep {
    let show = approve.show.iter();
    ApprovalStep {
        message: approve.message.value.clone(),
        show: show.map(|(name, value)| (name.value.clone(), value.value.clone())).collect(),
        answer: approve.answer_kind(),
        needs: needs(Some(&approve.needs())),
    }
}

/// Returns the outputs of the step: the values shown, and that of the answer.
pub(super) fn outputs(approve: &ApproveSpec) -> Vec<RequiredOutput> {
    let required = |name, schema| Some(RequiredOutput { name, schema: ValueSchema::new(schema).ok()? });
    // The value shown is the output: no schema restricts it further.
    let shown = approve.show.iter().map(|(name, _)| required(name.value.clone(), json!(true)));
    let kind = approve.answer_kind();
    let answered = kind.iter().map(|kind| required(Name::parse(kind.output()).ok()?, schema(kind)));
    shown.chain(answered).flatten().collect()
}

fn schema(kind: &AnswerKind) -> serde_json::Value {
    match kind {
        AnswerKind::Choose(AnswerChoices::List(words)) => json!({ "type": "string", "enum": words }),
        AnswerKind::Choose(AnswerChoices::Computed(_)) => json!({ "type": "string" }),
        AnswerKind::Edit { max_length, .. } => json!({ "type": "string", "maxLength": max_length }),
        AnswerKind::Select(_) => json!({ "type": "array", "minItems": 1 }),
    }
}
