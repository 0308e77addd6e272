//! `intent` of a plan: what it reads, and which plans it has an effect on.

use super::PlanSpec;
use crate::decode::{MappingFields, SpecDecoder};
use wf_base::diag::{Code, Diagnostic};
use wf_model::expr::ExprReference;

/// Notes an intent that is not known when the run begins, or that no one looks up. One that is noted is dropped.
pub(super) fn check(plan: &mut PlanSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let Some(intent) = plan.intent.take() else { return };
    let later = intent.value.refs().iter().find(|read| !matches!(read.name, ExprReference::Param(_)));
    if let Some(later) = later {
        let message = format!("`intent` reads parameters, and `{}` is none", later.name);
        let mistake = Diagnostic::new(Code::ValueWrong, later.span, message);
        let help = "memory is asked before anything begins; read a parameter: `{{ params.request }}`";
        return decoder.emit(mistake.with_help(help));
    }
    if !fields.has("replan") && !plan.stuck_agents().guided {
        let message = "`intent` has no effect without `replan`: no one asks memory about it";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("intent"), message);
        return decoder.emit(mistake.with_help("add `replan: {}`, or remove it"));
    }
    plan.intent = Some(intent);
}
