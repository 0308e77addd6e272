//! `type` and `interaction_mode` of a plan: the plans they fit.

use super::PlanSpec;
use crate::{
    ast::steps::StepSpec,
    decode::{MappingFields, SpecDecoder, words},
};
use wf_base::diag::{Code, Diagnostic};
use wf_model::{AgentTool, InteractionMode, OnStuck, WorkItemType};

words!(WorkItemType, InteractionMode);

/// Notes a type and a mode that do not fit the rest of the plan.
pub(super) fn check_interaction(
    plan: &PlanSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let mistakes = [
        ("type", plan.r#type.and_then(|kind| misfit_of_type(plan, kind))),
        ("interaction_mode", plan.interaction_mode.and_then(|mode| misfit_of_mode(plan, mode))),
    ];
    for (key, mistake) in mistakes {
        if let Some((message, help)) = mistake {
            let mistake = Diagnostic::new(Code::ValueWrong, fields.key(key), message);
            decoder.emit(mistake.with_help(help));
        }
    }
}

/// Returns the mistake and its remedy.
fn misfit_of_type(plan: &PlanSpec, item_type: WorkItemType) -> Option<(&'static str, &'static str)> {
    let has_children = plan.all_steps().any(|step| step.used_paths().next().is_some());
    match item_type {
        WorkItemType::Task if has_children => Some((
            "a task has no children, and a step of it uses or starts another plan",
            "write `type: project`, or leave `type` out",
        )),
        WorkItemType::Project if !has_children => Some((
            "a project has children, and no step of it uses or starts another plan",
            "write `type: task`, or leave `type` out",
        )),
        WorkItemType::Goal => Some((
            "a goal is a file of its own kind, with a schedule",
            "write `kind: goal` instead of `kind: plan`, and leave `type` out",
        )),
        WorkItemType::System if plan.all_steps().any(|step| asks_people(plan, step)) => Some((
            "a system works without people, and a step of it asks them",
            "leave out `approve`, the tool `ask` and `on_stuck: escalate`, or leave `type` out",
        )),
        WorkItemType::Task | WorkItemType::Project | WorkItemType::System => None,
    }
}

fn misfit_of_mode(plan: &PlanSpec, mode: InteractionMode) -> Option<(&'static str, &'static str)> {
    // A plan without `steps` is an agent.
    if plan.steps.is_some() && !plan.all_steps().any(|step| step.agent.is_some()) {
        return Some(("`interaction_mode` has no effect: no step has an `agent`", "leave it out"));
    }
    let asks = plan.all_steps().any(has_question);
    let confirms = plan.all_gates().next().is_some() || plan.all_steps().any(|step| step.approve.is_some());
    match mode {
        InteractionMode::DefaultAndOffer => None,
        _ if asks => Some((
            "agents do not ask in this mode, and one has the tool `ask`",
            "leave the tool out, or write `interaction_mode: default_and_offer`",
        )),
        InteractionMode::ConfirmOnlyWhenRequired if !confirms => Some((
            "the plan requires no confirmation: it has no step with `approve`, and no gate",
            "add one, or write `interaction_mode: act_and_report`",
        )),
        InteractionMode::ActAndReport | InteractionMode::ConfirmOnlyWhenRequired => None,
    }
}

/// True if an agent may ask people by its own decision.
fn has_question(step: &StepSpec) -> bool {
    step.agent.as_ref().is_some_and(|agent| agent.value.tools.iter().any(|tool| tool.value == AgentTool::Ask))
}

fn asks_people(plan: &PlanSpec, step: &StepSpec) -> bool {
    let escalates = step.own_on_stuck(plan.on_stuck) == OnStuck::Escalate;
    step.approve.is_some() || escalates || has_question(step)
}
