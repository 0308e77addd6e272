use super::plan::{LoweringError, SpecLowering};
use super::step;
use crate::ast;
use wf_base::name::Name;
use wf_model::expr::Template;
use wf_model::{ChildPlan, GeneratedPlan, PlanEnvelope, SandboxPermissions};

/// The plan that the run makes for a step.
pub(super) fn plan(
    step: &ast::StepSpec,
    with: Vec<(Name, Template)>,
    file: usize,
    lowering: &mut SpecLowering<'_>,
) -> Result<GeneratedPlan, LoweringError> {
    let made = step.generated().ok_or(LoweringError::Broken)?;
    let own = lowering.loaded.sources.get(file).ok_or(LoweringError::Broken)?.path();
    let folder = own.rfind('/').and_then(|at| own.get(..=at)).unwrap_or_default();
    Ok(GeneratedPlan {
        text: made.text.as_ref().map(|text| text.value.clone()),
        path: format!("{folder}{}.generated.md", step.id.value),
        with,
        envelope: envelope(made.within.as_ref(), file, lowering)?,
    })
}

fn envelope(
    said: Option<&ast::EnvelopeSpec>,
    file: usize,
    lowering: &mut SpecLowering<'_>,
) -> Result<PlanEnvelope, LoweringError> {
    let Some(said) = said else {
        return Ok(PlanEnvelope::default());
    };
    let plans = said.plans.iter().map(|path| {
        let (plan, path) = lowering.plan_at(file, path)?;
        Ok(ChildPlan { plan, path })
    });
    Ok(PlanEnvelope {
        allow: said.allow.as_ref().map_or_else(SandboxPermissions::default, step::allow),
        executors: said.executors().collect(),
        plans: plans.collect::<Result<_, LoweringError>>()?,
        roles: said.roles.iter().map(|role| role.value.clone()).collect(),
        tools: said.tools.iter().map(|tool| tool.value).collect(),
        mcp: said.mcp.iter().map(|server| server.value.clone()).collect(),
        fetch: said.fetch.iter().map(|host| host.value.0.clone()).collect(),
        max_steps: said.max_steps.as_ref().map_or(PlanEnvelope::MAX_STEPS, |max| max.value),
        budget: said.budget.as_ref().map(ast::BudgetSpec::lower),
        checks: said.checks,
        untrusted: said.untrusted,
    })
}
