//! The proposals that a planner may make: an alternative for a step, in the plan language, with
//! nothing that lets the step reach more (artoo v0.8, R2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use wf_base::name::{EnvName, Name};
use wf_base::time::{format_duration, parse_duration};
use wf_model::expr::{Template, templates_in_script};
use wf_model::{Alternative, EnvVar, ShellScript, Step, StepWork};

/// The keys of a step that would let it reach more, or verify less.
const FORBIDDEN_KEYS: [&str; 13] = [
    "allow",
    "limits",
    "uses",
    "with",
    "http",
    "secrets",
    "verify",
    "inspect",
    "test",
    "loops",
    "outputs",
    "gates",
    "depends_on",
];

/// An alternative for a step, as a planner gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedAlternative {
    /// Its id, unique within the step.
    pub id: Name,
    /// The tool that does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The target of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A script, passed literally to `sh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// A program and its arguments, literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Vec<String>>,
    /// Variables, added to those of the step or replacing them; each may be a template.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<EnvName, String>,
    /// The working directory, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The time limit of an attempt, for example `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl ProposedAlternative {
    /// Reads a proposal; a forbidden key is refused by name.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let wider = FORBIDDEN_KEYS.iter().find(|key| value.get(**key).is_some());
        if let Some(key) = wider {
            return Err(format!("`{key}` can be set only in the plan"));
        }
        Self::deserialize(value).map_err(|error| error.to_string())
    }

    /// Returns the alternative that it proposes for a step, or the reason why it may not.
    pub(super) fn alternative(&self, written: &Step) -> Result<Alternative, String> {
        if matches!(written.work, StepWork::Skill(_)) {
            return Err("the step runs a skill script, which only the plan can replace".into());
        }
        if !matches!(written.work, StepWork::Run(_) | StepWork::Exec(_)) {
            return Err("only `run` and `exec` steps can have alternatives".into());
        }
        if written.alternatives.iter().any(|known| known.id == self.id) {
            return Err(format!("the step already has an alternative `{}`", self.id));
        }
        self.is_sound()?;
        let mut step = written.clone();
        step.alternatives = Vec::new();
        if let Some(work) = self.work(written)? {
            (step.work, step.tool) = (work, None);
        }
        step.tool = self.tool.clone().or(step.tool);
        step.target = self.target.clone().or(step.target);
        step.cwd = self.cwd.as_deref().map(Template::literal).or(step.cwd);
        if let Some(timeout) = &self.timeout {
            let limit = parse_duration(timeout).map_err(|bad| format!("`{timeout}`: {bad}"))?;
            if limit.is_zero() {
                return Err("`timeout` must not be zero".into());
            }
            step.timeout = Some(limit);
        }
        self.overlay(written, &mut step)?;
        let same = written.ways().enumerate().find(|(_, known)| work_of(known) == work_of(&step));
        if let Some((way, _)) = same {
            return Err(match written.alternative_id(way) {
                Some(id) => format!("it does the same as `{id}`"),
                None => "it does the same as the step as written".into(),
            });
        }
        let other = (written.ways().enumerate()).map(|(way, known)| (written.tool(way), known)).find(
            |(tool, known)| {
                executes(known) == executes(&step) && self.tool.as_ref().is_some_and(|said| said != tool)
            },
        );
        if let Some((tool, _)) = other {
            return Err(format!("it executes the same as tool `{tool}` under another name"));
        }
        Ok(Alternative {
            id: self.id.clone(),
            replaces: self.run.is_some() || self.exec.is_some(),
            step: Arc::new(step),
        })
    }

    /// Checks that its words are well-formed, and its directory lies in the workspace.
    fn is_sound(&self) -> Result<(), String> {
        for word in [&self.tool, &self.target].into_iter().flatten() {
            let shows = !word.chars().any(char::is_control);
            // A word that looks like a blocked one must be that word.
            let bare = !word.is_empty() && word.trim() == word;
            if !bare || word.contains("{{") || !shows {
                return Err("`tool` and `target` must be plain words, without templates or surrounding \
                     whitespace"
                    .into());
            }
        }
        if let Some(cwd) = &self.cwd
            && (cwd.is_empty()
                || cwd.starts_with(['/', '~'])
                || cwd.contains("{{")
                || cwd.split('/').any(|part| part == ".."))
        {
            return Err(format!("`cwd` leaves the workspace: {cwd}"));
        }
        let own = self.env.keys().find(|name| name.as_str().starts_with("WF_"));
        own.map_or(Ok(()), |name| Err(format!("`{name}`: names that start with `WF_` are reserved")))
    }

    /// Returns its work, if it names any. Values reach it through its variables alone.
    fn work(&self, written: &Step) -> Result<Option<StepWork>, String> {
        let work = match (&self.run, &self.exec) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return Err("`run` and `exec` are mutually exclusive".into()),
            (Some(text), None) if !templates_in_script(text).is_empty() => {
                return Err("templates are not supported in `run`: pass values in `env`".into());
            }
            (Some(text), None) => StepWork::Run(ShellScript { shell: shell_of(written), text: text.clone() }),
            (None, Some(words)) => {
                if words.first().is_none_or(String::is_empty) {
                    return Err("`exec` is missing the program".into());
                }
                if words.iter().any(|word| word.contains("{{")) {
                    return Err("templates are not supported in `exec`: pass values in `env`".into());
                }
                StepWork::Exec(words.iter().map(|word| Template::literal(word)).collect())
            }
        };
        if self.tool.is_none() {
            return Err("it executes another command, but `tool` is missing".into());
        }
        Ok(Some(work))
    }

    /// Applies its variables over those of the step. It reads nothing that the step does not.
    fn overlay(&self, written: &Step, step: &mut Step) -> Result<(), String> {
        let known = reads(written);
        for (name, text) in &self.env {
            let value = Template::read(text).ok_or_else(|| format!("`{name}` is not a valid template"))?;
            let mut refs = value.refs().iter().map(|read| &read.name);
            if let Some(other) = refs.find(|read| !known.contains(&read.to_string())) {
                return Err(format!("`{name}` reads {other}, which the step does not read"));
            }
            match step.env.iter_mut().find(|own| own.name == *name) {
                Some(own) => own.value = value,
                None => step.env.push(EnvVar { name: name.clone(), value }),
            }
        }
        Ok(())
    }
}

/// Returns all references that the templates of a process read, as written.
fn reads(step: &Step) -> BTreeSet<String> {
    let words = match &step.work {
        StepWork::Exec(words) => words.as_slice(),
        _ => &[],
    };
    let templates = step.env.iter().map(|own| &own.value).chain(words);
    let refs = templates.flat_map(Template::refs);
    refs.map(|read| read.name.to_string()).collect()
}

/// Returns the work of an alternative, regardless of its name.
fn work_of(step: &Step) -> Value {
    let mut way = sketch(step);
    if let Some(way) = way.as_object_mut() {
        way.remove("tool");
        way.remove("target");
    }
    way
}

/// Returns the execution of an alternative, regardless of its inputs.
fn executes(step: &Step) -> Value {
    let way = sketch(step);
    json!([way.get("shell"), way.get("run"), way.get("exec")])
}

/// Formats an alternative in the plan language, without its title and its checks.
pub(super) fn sketch(step: &Step) -> Value {
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
        StepWork::Skill(call) => put("skill", json!({ "name": call.skill, "script": call.script })),
        StepWork::Agent(agent) => put("agent", json!({ "model": agent.model, "tools": agent.tools })),
        StepWork::Http(http) => {
            put("http", json!({ "method": http.method, "url": http.url.source() }));
        }
        StepWork::Uses(uses) => put("uses", json!(uses.path)),
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

/// Returns the shell that reads a script for a step: its own, or the default one.
fn shell_of(written: &Step) -> Vec<String> {
    match &written.work {
        StepWork::Run(script) => script.shell.clone(),
        _ => ["sh", "-eu", "-c"].map(str::to_owned).to_vec(),
    }
}

#[cfg(test)]
mod tests;
