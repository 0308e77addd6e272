use super::breach::EnvelopeCheck;
use wf_model::{AgentEngine, AgentTool, AgentWork, ChildPlan, EnvelopeExecutor, ModelChoice, Step, StepWork};

/// Compares the work of a step.
pub(super) fn check_work(check: &mut EnvelopeCheck<'_>, place: &str, step: &Step, work: &StepWork) {
    let executor = match work {
        StepWork::Run(_) => EnvelopeExecutor::Run,
        StepWork::Exec(_) => EnvelopeExecutor::Exec,
        StepWork::Agent(_) => EnvelopeExecutor::Agent,
        StepWork::Uses(_) => EnvelopeExecutor::Uses,
        StepWork::Wait(_) => EnvelopeExecutor::Wait,
        StepWork::Approve(_) => EnvelopeExecutor::Approve,
        StepWork::Skill(_) => return check.note(format!("{place} runs a skill; a generated plan has none")),
        StepWork::Http(_) => {
            return check.note(format!("{place} sends a request; a generated plan sends none"));
        }
        StepWork::Generated(_) => {
            return check.note(format!("{place} runs a generated plan; a generated plan runs none"));
        }
    };
    if !check.envelope.executors.contains(&executor) {
        check.note(format!("{place} has the executor `{executor}`, which is not in `executors`"));
    }
    match work {
        StepWork::Run(_) | StepWork::Exec(_) if step.allow.is_none() => {
            check.note(format!("{place} runs without a sandbox; add `allow`"));
        }
        StepWork::Uses(nested) => check_plan(check, place, &nested.path),
        StepWork::Agent(agent) => check_agent(check, place, agent),
        _ => {}
    }
}

fn check_plan(check: &mut EnvelopeCheck<'_>, place: &str, path: &str) {
    if check.envelope.plans.iter().all(|child| child.path != path) {
        check.note(format!("{place} runs the plan `{path}`, which is not in `plans`"));
    }
}

fn check_agent(check: &mut EnvelopeCheck<'_>, place: &str, agent: &AgentWork) {
    let AgentWork {
        model,
        engine,
        tools,
        mcp,
        skills,
        fetch,
        dispatch,
        conversation,
        recall,
        // Instructions, bounds and style.
        command: _,
        briefing: _,
        with: _,
        max_turns: _,
        max_questions: _,
        untrusted: _,
        when_untrusted: _,
        workspace: _,
        merge: _,
        persona: _,
        // It lets the agent ask less, never more.
        interaction: _,
    } = agent;
    match model {
        ModelChoice::Role(role) => check.role(place, role),
        ModelChoice::Model(name) => {
            check.note(format!("{place} names the model `{name}`; a generated plan names roles"));
        }
    }
    if *engine != AgentEngine::Builtin {
        check.note(format!("{place} has `engine: {engine}`; a generated plan has only `builtin`"));
    }
    if conversation.is_some() {
        check.note(format!("{place} continues a conversation; a generated plan continues none"));
    }
    if recall.is_some() && !check.envelope.tools.contains(&AgentTool::Memory) {
        check.note(format!("{place} has `recall`, and `memory` is not in `tools`"));
    }
    for skill in skills {
        check.note(format!("{place} has the skill `{}`; a generated plan has none", skill.name));
    }
    let envelope = check.envelope;
    for tool in tools.iter().filter(|tool| !envelope.tools.contains(tool)) {
        check.note(format!("{place} has the tool `{tool}`, which is not in `tools`"));
    }
    for server in mcp.iter().filter(|server| !envelope.mcp.contains(server)) {
        check.note(format!("{place} uses the MCP server `{server}`, which is not in `mcp`"));
    }
    for host in fetch.iter().filter(|host| !envelope.fetch.contains(host)) {
        check.note(format!("{place} fetches from `{host}`, which is not in `fetch`"));
    }
    for ChildPlan { path, .. } in dispatch.iter().flat_map(|dispatch| &dispatch.plans) {
        check_plan(check, place, path);
    }
}
