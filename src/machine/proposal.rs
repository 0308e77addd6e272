//! What a planner may propose: another way to do a step, in the language's own words, and nothing
//! that lets the step reach more (artoo v0.8, R2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::expr::{Template, templates_in_script};
use crate::model::{Alternative, EnvVar, Script, Step, Work};
use crate::name::{EnvName, Name};
use crate::time::{format_duration, parse_duration};

/// The keys of a step that let it reach more, or prove less.
const WIDER: [&str; 13] = [
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

/// Another way to do a step, as a planner gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// Its id, unique in the step.
    pub id: Name,
    /// What does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the work is done on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A script, given to `sh` as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// A program and its arguments, as they stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Vec<String>>,
    /// Variables, in addition to those of the step or in their place; each may be a template.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<EnvName, String>,
    /// Where it runs, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The longest an attempt may take, for example `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl Proposal {
    /// Reads a proposal; what it must not say is refused by name.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let wider = WIDER.iter().find(|key| value.get(**key).is_some());
        if let Some(key) = wider {
            return Err(format!("it says `{key}`, which only the plan may say"));
        }
        Self::deserialize(value).map_err(|error| error.to_string())
    }

    /// The way that it proposes for a step, or why it may not.
    pub(super) fn alternative(&self, written: &Step) -> Result<Alternative, String> {
        if matches!(written.work, Work::Skill(_)) {
            return Err("the step runs a script of a skill, which only a plan can replace".into());
        }
        if !matches!(written.work, Work::Run(_) | Work::Exec(_)) {
            return Err("the step is no process, and only processes can be done otherwise".into());
        }
        if written.alternatives.iter().any(|known| known.id == self.id) {
            return Err(format!("the step has a way `{}` already", self.id));
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
                return Err("in no time at all, nothing could succeed".into());
            }
            step.timeout = Some(limit);
        }
        self.overlay(written, &mut step)?;
        let same = (0..written.ways())
            .filter_map(|way| Some((way, written.way(way)?)))
            .find(|(_, known)| done(known) == done(&step));
        if let Some((way, _)) = same {
            return Err(match written.way_id(way) {
                Some(id) => format!("it does the same as `{id}`"),
                None => "it does the same as the step as it is written".into(),
            });
        }
        let other = (0..written.ways())
            .filter_map(|way| Some((written.tool(way), written.way(way)?)))
            .find(|(tool, known)| {
                executes(known) == executes(&step)
                    && self.tool.as_ref().is_some_and(|said| said != tool)
            });
        if let Some((tool, _)) = other {
            return Err(format!(
                "it executes what the tool `{tool}` does, and calls it another"
            ));
        }
        Ok(Alternative {
            id: self.id.clone(),
            replaces: self.run.is_some() || self.exec.is_some(),
            step: Arc::new(step),
        })
    }

    /// Whether its words are words, and its place is one of the workspace.
    fn is_sound(&self) -> Result<(), String> {
        for word in [&self.tool, &self.target].into_iter().flatten() {
            let shows = !word.chars().any(char::is_control);
            // What looks like a word that is blocked is that word.
            let bare = !word.is_empty() && word.trim() == word;
            if !bare || word.contains("{{") || !shows {
                return Err(
                    "`tool` and `target` are words, without a template or space around".into(),
                );
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
        let own = self
            .env
            .keys()
            .find(|name| name.as_str().starts_with("WF_"));
        own.map_or(Ok(()), |name| {
            Err(format!("`{name}`: wf keeps names that begin with `WF_`"))
        })
    }

    /// What it executes, if it says so. Values reach it through its variables alone.
    fn work(&self, written: &Step) -> Result<Option<Work>, String> {
        let work = match (&self.run, &self.exec) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return Err("it says both `run` and `exec`".into()),
            (Some(text), None) if !templates_in_script(text).is_empty() => {
                return Err("`run` takes no template: hand values over in `env`".into());
            }
            (Some(text), None) => Work::Run(Script {
                shell: shell_of(written),
                text: text.clone(),
            }),
            (None, Some(words)) => {
                if words.first().is_none_or(String::is_empty) {
                    return Err("`exec` names no program".into());
                }
                if words.iter().any(|word| word.contains("{{")) {
                    return Err("`exec` takes no template: hand values over in `env`".into());
                }
                Work::Exec(words.iter().map(|word| Template::literal(word)).collect())
            }
        };
        if self.tool.is_none() {
            return Err("it executes something else, and does not say which `tool` that is".into());
        }
        Ok(Some(work))
    }

    /// Puts its variables over those of the step. It reads nothing that the step does not.
    fn overlay(&self, written: &Step, step: &mut Step) -> Result<(), String> {
        let known = reads(written);
        for (name, text) in &self.env {
            let value = Template::read(text)
                .ok_or_else(|| format!("`{name}` is no template that can be read"))?;
            let mut refs = value.refs().iter().map(|read| &read.name);
            if let Some(other) = refs.find(|read| !known.contains(&read.to_string())) {
                return Err(format!("`{name}` reads {other}, which the step does not"));
            }
            match step.env.iter_mut().find(|own| own.name == *name) {
                Some(own) => own.value = value,
                None => step.env.push(EnvVar {
                    name: name.clone(),
                    value,
                }),
            }
        }
        Ok(())
    }
}

/// All that the templates of a process read, as it is written.
fn reads(step: &Step) -> BTreeSet<String> {
    let words = match &step.work {
        Work::Exec(words) => words.as_slice(),
        _ => &[],
    };
    let templates = step.env.iter().map(|own| &own.value).chain(words);
    let refs = templates.flat_map(Template::refs);
    refs.map(|read| read.name.to_string()).collect()
}

/// What is done in a way, whatever it is called.
fn done(step: &Step) -> Value {
    let mut way = sketch(step);
    if let Some(way) = way.as_object_mut() {
        way.remove("tool");
        way.remove("target");
    }
    way
}

/// What is executed in a way, whatever it is given.
fn executes(step: &Step) -> Value {
    let way = sketch(step);
    json!([way.get("shell"), way.get("run"), way.get("exec")])
}

/// A way to do a step in the language's own words, without its title and its proofs.
pub(super) fn sketch(step: &Step) -> Value {
    let mut way = json!({});
    let mut put = |key: &str, value: Value| way[key] = value;
    match &step.work {
        Work::Run(script) => {
            put("shell", json!(script.shell));
            put("run", json!(script.text));
        }
        Work::Exec(words) => {
            let words: Vec<&str> = words.iter().map(Template::source).collect();
            put("exec", json!(words));
        }
        Work::Skill(call) => put(
            "skill",
            json!({ "name": call.skill, "script": call.script }),
        ),
        Work::Http(http) => {
            put(
                "http",
                json!({ "method": http.method, "url": http.url.source() }),
            );
        }
        Work::Uses(uses) => put("uses", json!(uses.path)),
        Work::Wait(_) => put("wait", json!({})),
        Work::Approve(_) => put("approve", json!({})),
    }
    if let Some(tool) = &step.tool {
        put("tool", json!(tool));
    }
    if let Some(target) = &step.target {
        put("target", json!(target));
    }
    if !step.env.is_empty() {
        let env = step.env.iter();
        let env: BTreeMap<&str, &str> = env
            .map(|own| (own.name.as_str(), own.value.source()))
            .collect();
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

/// The shell that reads a script for a step: its own, or the one that steps have.
fn shell_of(written: &Step) -> Vec<String> {
    match &written.work {
        Work::Run(script) => script.shell.clone(),
        _ => ["sh", "-eu", "-c"].map(str::to_owned).to_vec(),
    }
}

#[cfg(test)]
mod tests;
