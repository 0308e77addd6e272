use crate::{
    ast::{AgentSpec, StepSpec},
    check::{FileDiagnostics, RuleContext},
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    keyword::Keyword as _,
    name::PlanId,
    source::Spanned,
};
use wf_model::{
    AgentSkill, AgentTool,
    expr::{ScriptReference, templates_in_script},
};

/// Checks that an agent can use its tools, and its briefing contains no template: it is passed on as it is.
pub(crate) fn check_agents(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        if let Some(agent) = step.agent.as_deref() {
            check_writing_tools(step, agent, diagnostics);
            check_closed_tools(agent, diagnostics);
            check_templates(step, agent, diagnostics);
            check_child_plans(context, step, diagnostics);
            check_skills(context, agent, diagnostics);
        }
    }
}

/// Notes tools writing in a step that may write nothing.
fn check_writing_tools(step: &StepSpec, agent: &Spanned<AgentSpec>, diagnostics: &mut FileDiagnostics) {
    let may_write = step.allow.as_ref().is_some_and(|allow| !allow.write.is_empty());
    let mut tools = agent.value.tools.iter();
    let writing = tools.find(|tool| matches!(tool.value, AgentTool::Write | AgentTool::Edit));
    if let Some(tool) = writing.filter(|_| !may_write) {
        let message = format!("the tool `{}` can write no file: the step may not write any", tool.value);
        let mistake = Diagnostic::new(Code::KeyMissing, tool.span, message);
        diagnostics.note(mistake.with_help("list the files next to `agent`: `allow: {write: [PATH]}`"));
    }
}

/// Notes rules for tools the agent does not have. The tools of a program are its own; of some, they are known.
fn check_closed_tools(agent: &Spanned<AgentSpec>, diagnostics: &mut FileDiagnostics) {
    let engine = agent.value.engine.unwrap_or_default();
    for (tool, _) in &*agent.value.when_untrusted {
        let name = tool.value.as_str();
        let tool_names = match engine.client_tools() {
            Some(tools) => tools.to_vec(),
            None if engine.is_client() => {
                if !is_tool_name(name) {
                    let message = format!("{name:?} is not the name of a tool");
                    let mistake = Diagnostic::new(Code::ValueWrong, tool.span, message);
                    diagnostics.note(mistake.with_help("use at most 64 letters, digits, `_`, `-` and `.`"));
                }
                continue;
            }
            None => AgentTool::ALL.iter().map(|tool| tool.as_str()).collect(),
        };
        if !tool_names.contains(&name) {
            let mistake = Diagnostic::new(Code::ValueWrong, tool.span, format!("there is no tool `{name}`"));
            diagnostics.note(match nearest(name, tool_names.iter().copied()) {
                Some(near) => mistake.with_suggestion(Some(near)),
                None => mistake.with_help(format!("the tools are {}", tool_names.join(", "))),
            });
        } else if !engine.is_client() && agent.value.tools.iter().all(|own| own.value.as_str() != name) {
            let message = format!("the agent does not have the tool `{name}`");
            let mistake = Diagnostic::new(Code::ValueWrong, tool.span, message);
            diagnostics.note(mistake.with_help("remove the rule, or add the tool to `tools`"));
        }
    }
}

/// True if a text can be the name of a program's tool.
fn is_tool_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=64).contains(&text.len()) && text.chars().all(allowed)
}

/// Notes a plan the agent could not tell from another one: it knows them by their ids.
fn check_child_plans(context: &RuleContext<'_>, step: &StepSpec, diagnostics: &mut FileDiagnostics) {
    let mut plans_by_id: Vec<(&PlanId, usize)> = Vec::new();
    for (path, file, plan) in context.all_used(step) {
        let Some(id) = plan.id.as_ref().map(|id| &id.value) else {
            continue;
        };
        if plans_by_id.iter().any(|(other, from)| *other == id && *from != file) {
            let message = format!("another plan of `dispatch` has the id `{id}`, too");
            let mistake = Diagnostic::new(Code::DuplicateId, path.span, message);
            diagnostics
                .note(mistake.with_help("give one of the plans another `id`: the model knows them by it"));
        }
        plans_by_id.push((id, file));
    }
}

/// Notes the first template in a briefing. Double braces of other languages are left alone.
fn check_templates(step: &StepSpec, agent: &Spanned<AgentSpec>, diagnostics: &mut FileDiagnostics) {
    let briefing = step.briefing.as_deref().unwrap_or("");
    let mut names = templates_in_script(briefing).into_iter().filter_map(|(_, name)| match name {
        ScriptReference::Own(name) => Some(name),
        ScriptReference::Foreign(_) => None,
    });
    if let Some(name) = names.next() {
        let id = &step.id.value;
        let message =
            format!("the briefing of step `{id}` contains `{{{{ {name} }}}}`, which is not expanded");
        let mistake = Diagnostic::new(Code::TemplateInScript, agent.span, message);
        let help = format!(
            "write `with: {{NAME: \"{{{{ {name} }}}}\"}}` inside `agent`: the model gets it by its name"
        );
        diagnostics.note(mistake.with_help(help));
    }
}

/// Notes a tool without a script, and texts too long together.
fn check_skills(context: &RuleContext<'_>, agent: &Spanned<AgentSpec>, diagnostics: &mut FileDiagnostics) {
    let named = agent.value.skills.as_deref().unwrap_or_default();
    let loaded_skills: Option<Vec<_>> = named.iter().map(|name| context.loaded.skill(&name.value)).collect();
    // One that is not found has a mistake already.
    let Some(skills) = loaded_skills else { return };
    let tool = agent.value.tools.iter().find(|tool| tool.value == AgentTool::Skill);
    if let Some(tool) = tool.filter(|_| skills.iter().all(|(_, skill)| skill.extension.scripts.is_empty())) {
        let message = match named {
            [] => "the tool `skill` runs scripts of skills, and the agent has none",
            _ => "the tool `skill` runs scripts, and the skills of the agent declare none",
        };
        let mistake = Diagnostic::new(Code::KeyMissing, tool.span, message);
        diagnostics
            .note(mistake.with_help("list a skill that declares scripts: `skills: [NAME]` inside `agent`"));
    }
    let texts = skills.iter().filter_map(|(file, skill)| {
        let source = context.loaded.sources.get(*file)?;
        Some(source.slice(skill.skill.body).trim().chars().count())
    });
    let (chars, most) = (texts.sum::<usize>(), AgentSkill::MAX_CHARS);
    if let Some(first) = named.first().filter(|_| chars > most) {
        let message = format!(
            "the skills of the agent have {chars} characters together, and at most {most} are allowed"
        );
        let mistake = Diagnostic::new(Code::ValueWrong, first.span, message);
        diagnostics.note(mistake.with_help(
            "list fewer skills, or move parts of their SKILL.md to `references/`: the agent can read those",
        ));
    }
}
