use std::sync::Arc;

use super::FileDiagnostics;
use crate::{
    LoadedSpec,
    ast::{AgentSpec, EnvelopeSpec, PlanSpec},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Spanned,
};
use wf_model::{ModelTable, Planner};

/// Adds to the diagnostics the agents, planners and judges whose model, role or MCP server `wf.yaml` does not define. `known` is asked for
/// the models only if there is one; `None`: they are not known, because `wf.yaml` has errors of its own.
pub fn models(loaded: &mut LoadedSpec, models: impl FnOnce() -> Option<Arc<ModelTable>>) {
    let mut plans = loaded.plans.iter().flatten();
    let asks = |plan: &PlanSpec| {
        let asks = agents(plan).next().is_some() || planner_role(plan).is_some();
        asks || judge_roles(plan).next().is_some() || envelopes(plan).next().is_some()
    };
    if !plans.any(asks) {
        return;
    }
    let Some(table) = models() else { return };
    let mut mistakes: Vec<(usize, Diagnostic)> = Vec::new();
    for (file, plan) in loaded.plans.iter().enumerate() {
        let mut diagnostics = FileDiagnostics::default();
        let planner = plan.iter().filter_map(planner_role);
        let roles = planner.chain(plan.iter().flat_map(judge_roles));
        let roles = roles.chain(plan.iter().flat_map(envelopes).flat_map(|envelope| &envelope.roles));
        for role in roles.filter(|role| !table.roles.contains_key(&role.value)) {
            unknown_role(role, &table, &mut diagnostics);
        }
        let usual = plan.as_ref().and_then(usual_planner);
        if let Some(role) = usual.filter(|role| !table.roles.contains_key(&role.value)) {
            unknown_role(&role, &table, &mut diagnostics);
        }
        let servers = plan.iter().flat_map(envelopes).flat_map(|envelope| &envelope.mcp);
        for server in servers.filter(|server| !table.servers.contains_key(&server.value)) {
            unknown_server(server, &table, &mut diagnostics);
        }
        for agent in plan.iter().flat_map(agents) {
            if let Some(name) = agent.model.as_ref().filter(|name| !table.models.contains_key(&name.value)) {
                unknown_model(name, &table, &mut diagnostics);
            }
            if let Some(role) = agent.role.as_ref().filter(|role| !table.roles.contains_key(&role.value)) {
                unknown_role(role, &table, &mut diagnostics);
            }
            for server in agent.mcp.iter().filter(|server| !table.servers.contains_key(&server.value)) {
                unknown_server(server, &table, &mut diagnostics);
            }
        }
        let wrong = diagnostics.into_diagnostics().into_iter();
        mistakes.extend(wrong.map(|mistake| (file, mistake)));
    }
    loaded.diagnostics.extend(mistakes);
    loaded.sort();
}

/// Returns the agents of a plan: those of its steps and of their alternatives.
fn agents(plan: &PlanSpec) -> impl Iterator<Item = &AgentSpec> {
    plan.all_steps().flat_map(|step| {
        let own = step.agent.iter().map(|agent| &agent.value);
        own.chain(step.alternatives.iter().filter_map(|other| Some(&other.agent.as_ref()?.value)))
    })
}

/// Returns the limits of the plans a run makes.
fn envelopes(plan: &PlanSpec) -> impl Iterator<Item = &EnvelopeSpec> {
    plan.all_steps().filter_map(|step| step.generated()?.within.as_ref())
}

fn planner_role(plan: &PlanSpec) -> Option<&Spanned<Name>> {
    plan.planner.as_ref()?.role.as_ref()
}

/// Returns the role of the planner agents ask, if the plan names none.
fn usual_planner(plan: &PlanSpec) -> Option<Spanned<Name>> {
    if planner_role(plan).is_some() {
        return None;
    }
    let consulting = plan.all_steps().find(|step| step.consults_planner(plan.on_stuck))?;
    let span = consulting.on_stuck.as_ref().map_or(consulting.id.span, |stuck| stuck.span);
    Some(Spanned::new(Name::parse(Planner::USUAL_ROLE).ok()?, span))
}

/// Returns the roles of the judges of checks: those of steps and of the plan.
fn judge_roles(plan: &PlanSpec) -> impl Iterator<Item = &Spanned<Name>> {
    let of_steps = plan
        .all_steps()
        .flat_map(|step| step.inspect.iter().chain(step.test.iter()).chain(step.verify.iter()));
    let checks = of_steps.chain(plan.verify.iter());
    checks.filter_map(|check| Some(&check.judge.as_ref()?.role))
}

fn unknown_model(name: &Spanned<Name>, models: &ModelTable, diagnostics: &mut FileDiagnostics) {
    let message = format!("wf.yaml defines no model `{}`", name.value);
    let mistake = Diagnostic::new(Code::UnknownModel, name.span, message);
    if models.roles.contains_key(&name.value) {
        return diagnostics.note(mistake.with_help(format!("it is a role: write `role: {}`", name.value)));
    }
    let help = format!("add it to wf.yaml: `models: {{{}: {{api: …, model: …}}}}`", name.value);
    diagnostics.misspelt(mistake, name.value.as_str(), models.models.keys().map(Name::as_str), &help);
}

fn unknown_role(role: &Spanned<Name>, models: &ModelTable, diagnostics: &mut FileDiagnostics) {
    let message = format!("wf.yaml gives no model to the role `{}`", role.value);
    let mistake = Diagnostic::new(Code::UnknownModel, role.span, message);
    if models.models.contains_key(&role.value) {
        return diagnostics.note(mistake.with_help(format!("it is a model: write `model: {}`", role.value)));
    }
    let model = models.models.keys().next().map_or("MODEL", Name::as_str);
    let help = format!("add it to wf.yaml: `roles: {{{}: {model}}}`", role.value);
    diagnostics.misspelt(mistake, role.value.as_str(), models.roles.keys().map(Name::as_str), &help);
}

fn unknown_server(server: &Spanned<Name>, models: &ModelTable, diagnostics: &mut FileDiagnostics) {
    let message = format!("wf.yaml defines no MCP server `{}`", server.value);
    let mistake = Diagnostic::new(Code::UnknownServer, server.span, message);
    let help = format!("add it to wf.yaml: `mcp: {{{}: {{command: […], tools: […]}}}}`", server.value);
    diagnostics.misspelt(mistake, server.value.as_str(), models.servers.keys().map(Name::as_str), &help);
}

#[cfg(test)]
mod tests;
