//! A plan without `steps`: one step, an agent with the body as its briefing.

use super::PlanSpec;
use crate::{
    ast::{
        parts::{AllowSpec, StepOutputSpec},
        steps::{AgentSpec, StepSpec},
    },
    decode::{MappingFields, OrderedEntries, SpecDecoder},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{Name, PlanId},
    source::Spanned,
};
use wf_model::expr::Template;

/// The role of an agent naming neither a role nor a model.
const ROLE: &str = "executor";

/// The keys a plan has for its agent. With `steps`, they belong to a step.
const OF_THE_AGENT: [&str; 3] = ["agent", "allow", "retry"];

/// Notes keys of an agent on a plan with `steps`.
pub(super) fn refuse_keys(fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    for key in OF_THE_AGENT.into_iter().filter(|key| fields.has(key)) {
        let message = format!("`{key}` is only valid for a plan without `steps`");
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
        decoder.emit(mistake.with_help("it belongs to a step: put it there"));
    }
}

/// Makes the one step. The checks of the plan become its checks, so a further attempt gets what they found.
pub(super) fn complete(plan: &mut PlanSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    plan.is_single_agent = true;
    // A plan without a valid id, or with a wrong `agent`, has a mistake already.
    let Some(id) = plan.id.as_ref().and_then(|id| step_id(id, decoder)) else { return };
    let mut agent = match plan.agent.take() {
        Some(agent) => agent,
        None if fields.has("agent") => return,
        None => Box::new(Spanned::new(default_agent(&id), id.span)),
    };
    // What the plan may use is what its agent works by.
    agent.value.skills = agent.value.skills.take().or_else(|| plan.skills.clone());
    let mut step = StepSpec::with_id(id);
    step.agent = Some(agent);
    step.has_executor = true;
    step.allow = Some(plan.allow.take().unwrap_or_else(|| Box::new(AllowSpec::workspace_only())));
    step.retry = plan.retry.take();
    step.inspect = std::mem::take(&mut plan.inspect);
    step.test = std::mem::take(&mut plan.test);
    step.verify = std::mem::take(&mut plan.verify);
    take_outputs(plan, &mut step, decoder);
    plan.steps = Some(vec![step]);
}

fn step_id(id: &Spanned<PlanId>, decoder: &mut SpecDecoder<'_>) -> Option<Spanned<Name>> {
    let name = Name::parse(&id.value.as_str().replace('-', "_")).ok();
    if name.is_none() {
        let message = "the id of a plan without `steps` begins with a letter: it names its step, too";
        decoder.emit(Diagnostic::new(Code::NameMalformed, id.span, message));
    }
    Some(Spanned::new(name?, id.span))
}

/// Returns an agent without tools.
fn default_agent(id: &Spanned<Name>) -> AgentSpec {
    let role = Name::parse(ROLE).ok().map(|role| Spanned::new(role, id.span));
    AgentSpec {
        role,
        model: None,
        engine: None,
        command: None,
        mcp: Vec::new(),
        skills: None,
        fetch: Vec::new(),
        untrusted: Vec::new(),
        workspace: None,
        merge: None,
        when_untrusted: OrderedEntries::default(),
        dispatch: None,
        conversation: None,
        conversation_idle: None,
        persona: None,
        interaction: None,
        tools: Vec::new(),
        max_turns: None,
        max_questions: None,
        with: OrderedEntries::default(),
        recall: None,
    }
}

fn take_outputs(plan: &mut PlanSpec, step: &mut StepSpec, decoder: &mut SpecDecoder<'_>) {
    for (name, output) in &mut plan.outputs.0 {
        if let Some(value) = &output.value.value {
            let message = "an output of a plan without `steps` has no `value`";
            let mistake = Diagnostic::new(Code::KeyUnknown, value.span, message);
            decoder.emit(mistake.with_help("leave it out: the value is part of the agent's answer"));
            continue;
        }
        let text = format!("{{{{ steps.{}.outputs.{} }}}}", step.id.value, name.value);
        output.value.value =
            Template::parse(&text, output.span).ok().map(|value| Spanned::new(value, output.span));
        let schema = output.value.schema.clone();
        step.outputs.0.push((name.clone(), StepOutputSpec { schema, default: None, external: false }));
    }
}
