use std::collections::BTreeMap;

use serde_json::{Value, json};

use wf_base::{name::Name, time::format_duration};
use wf_model::{AgentWork, HttpCall, ModelChoice, PlanEnvelope, SkillCall, Step, StepWork, expr::Template};

/// Returns the work of an alternative, regardless of its name.
pub(super) fn work_of(step: &Step) -> Value {
    let mut way = sketch(step);
    if let Some(way) = way.as_object_mut() {
        way.remove("tool");
        way.remove("target");
    }
    way
}

/// Returns the execution of an alternative: of a process, regardless of its inputs; of an agent, regardless of its
/// values and limits.
pub(super) fn executes(step: &Step) -> Value {
    if let StepWork::Agent(agent) = &step.work {
        return json!([agent.model, agent.engine, agent.command, agent.briefing]);
    }
    let way = sketch(step);
    let keys = ["shell", "run", "exec", "http", "uses", "with", "skill"];
    keys.map(|key| way.get(key).cloned().unwrap_or_default()).to_vec().into()
}

/// Formats an alternative in the plan language, without its title and its checks.
pub(in crate::machine) fn sketch(step: &Step) -> Value {
    let mut way = json!({});
    let mut put = |key: &str, value: Value| way[key] = value;
    match &step.work {
        StepWork::Run(script) => {
            put("shell", json!(script.shell));
            put("run", json!(script.text));
        }
        StepWork::Exec(words) => {
            let words: Vec<&str> = words.iter().map(Template::source).collect();
            put("exec", json!(words));
        }
        StepWork::Skill(call) => put("skill", script(call)),
        StepWork::Agent(work) => put("agent", agent(work)),
        StepWork::Http(call) => put("http", request(call)),
        StepWork::Uses(nested) => {
            put("uses", json!(nested.path));
            if !nested.with.is_empty() {
                put("with", json!(sources(&nested.with)));
            }
        }
        StepWork::Generated(made) => {
            put(
                "uses",
                json!({ "text": made.text.as_ref().map(Template::source), "within": within(&made.envelope) }),
            );
        }
        StepWork::Wait(_) => put("wait", json!({})),
        StepWork::Approve(_) => put("approve", json!({})),
    }
    if let Some(tool) = &step.tool {
        put("tool", json!(tool));
    }
    if let Some(target) = &step.target {
        put("target", json!(target));
    }
    if !step.env.is_empty() {
        let env = step.env.iter();
        let env: BTreeMap<&str, &str> = env.map(|own| (own.name.as_str(), own.value.source())).collect();
        put("env", json!(env));
    }
    if let Some(cwd) = &step.cwd {
        put("cwd", json!(cwd.source()));
    }
    if let Some(timeout) = step.timeout {
        put("timeout", json!(format_duration(timeout)));
    }
    way
}

fn agent(work: &AgentWork) -> Value {
    let (kind, name) = match &work.model {
        ModelChoice::Role(name) => ("role", name),
        ModelChoice::Model(name) => ("model", name),
    };
    json!({
        kind: name,
        "engine": work.engine,
        "tools": work.tools,
        "max_turns": work.max_turns,
        "with": sources(&work.with),
        "briefing": work.briefing,
    })
}

fn request(call: &HttpCall) -> Value {
    let mut request = json!({ "method": call.method, "url": call.url.source() });
    if let Some(body) = &call.body {
        request["body"] = json!(body.source());
    }
    request
}

/// Returns the limits of a future plan, in the plan language.
fn within(envelope: &PlanEnvelope) -> Value {
    let PlanEnvelope {
        allow,
        executors,
        plans,
        roles,
        tools,
        mcp,
        fetch,
        max_steps,
        checks,
        budget: _,
        untrusted: _,
    } = envelope;
    let plans: Vec<&str> = plans.iter().map(|child| child.path.as_str()).collect();
    let mut limits = json!({
        "allow": allow,
        "executors": executors,
        "plans": plans,
        "roles": roles,
        "tools": tools,
        "mcp": mcp,
        "fetch": fetch,
        "max_steps": max_steps,
    });
    if !checks.is_default() {
        limits["checks"] = json!(checks);
    }
    limits
}

fn script(call: &SkillCall) -> Value {
    let args = call.args.iter().filter_map(|arg| Some((arg.name.as_str(), arg.value.as_ref()?.source())));
    let args: BTreeMap<&str, &str> = args.collect();
    let words: Vec<&str> = call.words.iter().map(Template::source).collect();
    let args = if words.is_empty() { json!(args) } else { json!(words) };
    json!({ "name": call.skill, "script": call.script, "args": args })
}

/// Returns values as written.
fn sources(values: &[(Name, Template)]) -> BTreeMap<&str, &str> {
    values.iter().map(|(name, value)| (name.as_str(), value.source())).collect()
}
