use super::exact::{exact_duration, json, shell_words};
use super::plan::ShownPlans;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind, gate, generated};
use wf_model::expr::{SpannedReference, Template};
use wf_model::{
    AgentDispatch, AgentInteraction, AgentTool, AgentWork, AgentWorkspace, EnvVar, HttpCall, ModelChoice,
    NestedPlan, ShellScript, SkillArg, SkillCall, Step, StepWork, WaitCondition,
};

pub(super) fn work(work: &StepWork, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    match work {
        StepWork::Run(own) => script(own, sheet, ""),
        StepWork::Exec(own) => argv(own, sheet, ""),
        StepWork::Skill(call) => skill(call, sheet),
        StepWork::Agent(own) => agent(own, used, sheet),
        StepWork::Http(request) => http(request, sheet),
        StepWork::Uses(nested) => uses(nested, used, sheet),
        StepWork::Generated(made) => generated::generated(made, used, sheet),
        StepWork::Wait(what) => wait(what, sheet),
        StepWork::Approve(decision) => gate::approve(decision, sheet),
    }
}

/// A script in full, and the shell that reads it.
pub(super) fn script(script: &ShellScript, sheet: &mut SummaryBuilder, before: &str) {
    let ShellScript { shell, text } = script;
    let shell = shell_words(shell.iter().map(String::as_str));
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &format!("{before}shell"), shell);
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &format!("{before}run"), text);
}

/// A program and its arguments.
pub(super) fn argv(argv: &[Template], sheet: &mut SummaryBuilder, before: &str) {
    let text = shell_words(argv.iter().map(Template::source));
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &format!("{before}exec"), text);
}

/// A script of a skill, its interpreter and its arguments.
fn skill(call: &SkillCall, sheet: &mut SummaryBuilder) {
    let SkillCall {
        skill,
        folder: _, // It is in the path.
        script: _,
        head,
        args,
        words: given,
    } = call;
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "skill.name", skill.as_str());
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "skill.script", call.path());
    if !head.is_empty() {
        let program = shell_words(head.iter().map(String::as_str));
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "skill.program", program);
    }
    for SkillArg { name, schema, value, position } in args {
        let key = format!("skill.args.{name}");
        if let Some(value) = value {
            sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, value.source());
        }
        if let Some(position) = position {
            let key = format!("{key}.position");
            sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &key, position.to_string());
        }
        let key = format!("{key}.schema");
        sheet.add_line(SummaryLineKind::Proof, RiskDirection::Guard, &key, json(schema.text()));
    }
    if !given.is_empty() {
        let given = shell_words(given.iter().map(Template::source));
        sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, "skill.args", given);
    }
}

/// The model, its tools and its briefing.
fn agent(work: &AgentWork, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let AgentWork {
        model,
        engine,
        command,
        briefing,
        with,
        recall,
        tools,
        max_turns,
        max_questions,
        // What it may reach.
        mcp: _,
        skills: _,
        fetch: _,
        untrusted: _,
        when_untrusted: _,
        dispatch: _,
        workspace: _,
        merge: _,
        conversation,
        persona,
        interaction,
    } = work;
    let asks = tools.contains(&AgentTool::Ask);
    let mut put = |kind, key: &str, text: &str| sheet.add_line(kind, RiskDirection::Plain, key, text);
    let (key, name) = match model {
        ModelChoice::Model(name) => ("agent.model", name),
        ModelChoice::Role(name) => ("agent.role", name),
    };
    put(SummaryLineKind::Work, key, name.as_str());
    put(SummaryLineKind::Work, "agent.engine", engine.as_str());
    if !command.is_empty() {
        put(SummaryLineKind::Work, "agent.command", &shell_words(command.iter().map(String::as_str)));
    }
    put(SummaryLineKind::Work, "agent.briefing", briefing);
    for (name, value) in with {
        put(SummaryLineKind::Data, &format!("agent.with.{name}"), value.source());
    }
    if let Some(task) = recall {
        put(SummaryLineKind::Data, "agent.recall", task.source());
    }
    put(SummaryLineKind::Effort, "agent.max_turns", &max_turns.to_string());
    if asks {
        put(SummaryLineKind::Effort, "agent.max_questions", &max_questions.to_string());
    }
    for (key, signal) in interaction.iter().flat_map(AgentInteraction::templates) {
        put(SummaryLineKind::Effort, &format!("agent.interaction.{key}"), signal.source());
    }
    if let Some(persona) = persona {
        put(SummaryLineKind::Work, "agent.persona", &json(&serde_json::json!(persona)));
    }
    if let Some(conversation) = conversation {
        put(SummaryLineKind::Data, "agent.conversation", conversation.name.as_str());
        put(SummaryLineKind::Data, "agent.conversation_idle", &exact_duration(conversation.idle));
    }
    agent_reach(work, used, sheet);
}

/// The reach of an agent, and its bounds.
fn agent_reach(work: &AgentWork, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let AgentWork {
        tools, mcp, skills, fetch, untrusted, when_untrusted, dispatch, workspace, merge, ..
    } = work;
    if *workspace != AgentWorkspace::default() {
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::Guard, "agent.workspace", workspace.as_str());
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::Guard, "agent.merge", merge.as_str());
    }
    for path in untrusted {
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::Guard, "agent.untrusted", path);
    }
    for (tool, rule) in when_untrusted {
        let key = format!("agent.when_untrusted.{tool}");
        sheet.add_line(SummaryLineKind::Reach, RiskDirection::Guard, &key, rule.as_str());
    }
    let tools: Vec<String> = tools.iter().map(ToString::to_string).collect();
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "agent.tools", &tools);
    let skills: Vec<String> = skills.iter().map(|skill| skill.name.to_string()).collect();
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "agent.skills", &skills);
    let hosts: Vec<String> = fetch.iter().map(ToString::to_string).collect();
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "agent.fetch", &hosts);
    let servers: Vec<String> = mcp.iter().map(ToString::to_string).collect();
    sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "agent.mcp", &servers);
    if let Some(AgentDispatch { plans, max, max_parallel }) = dispatch.as_deref() {
        let names: Vec<String> = plans.iter().map(|child| used.name(&child.plan, &child.path)).collect();
        sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "agent.dispatch.plans", &names);
        let mut put = |key: &str, count: &u32| {
            let text = count.to_string();
            sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, key, text);
        };
        put("agent.dispatch.max", max);
        put("agent.dispatch.max_parallel", max_parallel);
    }
}

fn http(request: &HttpCall, sheet: &mut SummaryBuilder) {
    let HttpCall { method, url, headers, body, expect, outputs } = request;
    let mut put = |key: &str, text: &str| {
        sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, &format!("http.{key}"), text);
    };
    put("method", method);
    put("url", url.source());
    for (name, value) in headers {
        put(&format!("headers.{name}"), value.source());
    }
    if let Some(body) = body {
        put("body", body.source());
    }
    for (name, path) in outputs {
        put(&format!("outputs.{name}"), path);
    }
    let status = if expect.is_empty() { "200 to 299".into() } else { json(&expect.clone().into()) };
    sheet.add_line(SummaryLineKind::Proof, RiskDirection::Plain, "http.expect.status", status);
}

fn uses(nested: &NestedPlan, used: &mut ShownPlans, sheet: &mut SummaryBuilder) {
    let NestedPlan { plan, path, with } = nested;
    let name = used.name(plan, path);
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, "uses", name);
    for (param, value) in with {
        let key = format!("with.{param}");
        sheet.add_line(SummaryLineKind::Data, RiskDirection::Plain, &key, value.source());
    }
}

fn wait(wait: &WaitCondition, sheet: &mut SummaryBuilder) {
    let (key, text) = match wait {
        WaitCondition::For(time) => ("wait.duration", exact_duration(*time)),
        WaitCondition::Until(moment) => ("wait.until", moment.to_string()),
        WaitCondition::File(path) => ("wait.file", path.source().to_owned()),
    };
    sheet.add_line(SummaryLineKind::Work, RiskDirection::Plain, key, text);
}

/// Everything that the work of a step reads, its variables included.
pub(super) fn reads(step: &Step) -> Vec<SpannedReference> {
    let mut templates: Vec<&Template> = step.env.iter().map(|EnvVar { value, .. }| value).collect();
    templates.extend(step.work.templates());
    let read = templates.into_iter().flat_map(Template::refs);
    read.cloned().collect()
}
