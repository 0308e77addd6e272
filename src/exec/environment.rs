//! The environments of steps and of checks, built from nothing.
//!
//! Of two values for one name the later counts; the engine's own variables come last, so that
//! nothing can pretend to be them.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::{Env, Host, files};
use crate::digest::Digest;
use crate::expr::{EvalError, Ref, Scope, StatusTest, Template};
use crate::machine::{Attempt, Item};
use crate::model::{Allow, EnvVar, Fan, Object, Step};
use crate::name::RunId;

/// What every step may see of the engine's own environment; `LC_*` besides.
const BASE: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR",
];

/// What tells an attempt what was wrong with the one before.
const CORRECTION: [&str; 2] = ["WF_CORRECTION", "WF_CORRECTION_FILE"];

/// What every check may see of it.
const BASE_OF_CHECKS: [&str; 2] = ["PATH", "HOME"];

/// What the environment of a step is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The engine's own environment.
    pub host: &'a Host,
    /// What every step sees of it: [`passed`].
    pub passed: &'a Host,
    /// What it may reach, if it runs in a sandbox: then it sees no further names but those.
    pub allow: Option<&'a Allow>,
    /// The plan's variables.
    pub plan: &'a [EnvVar],
    /// The step's variables.
    pub step: &'a [EnvVar],
    /// The plan's resolved parameters.
    pub params: &'a Object,
    /// The run.
    pub run: &'a RunId,
    /// The attempt.
    pub attempt: &'a Attempt,
    /// The item, where the step is repeated.
    pub item: Option<&'a Item>,
    /// Over what the step is repeated.
    pub fan: &'a Fan,
    /// The output file.
    pub output: &'a Path,
    /// What tells the attempt what was wrong with the one before; empty for the first.
    pub correction: &'a Env,
    /// The workspace's root.
    pub workspace: &'a Path,
}

/// The environment of a step.
pub fn of_step(parts: &Parts<'_>, scope: &dyn Scope) -> Result<Env, EvalError> {
    let mut env = match parts.allow {
        None => parts.passed.clone(),
        Some(allow) => allowed(parts.host, allow),
    };
    for (name, value) in declared(parts.plan, parts.step, scope)? {
        env.insert(name, value);
    }
    // Nobody but the engine corrects.
    env.retain(|name, _| !CORRECTION.contains(&name.as_str()));
    for (name, value) in own(parts) {
        env.insert(name, value);
    }
    Ok(env.into_iter().collect())
}

/// The part of the engine's own environment that steps may see: a fixed list, and what globs
/// name.
pub fn passed(host: &Host, pass: &[String]) -> Host {
    let globs = name_globs(pass);
    host.iter()
        .filter(|(name, _)| {
            BASE.contains(&name.as_str()) || name.starts_with("LC_") || globs.is_match(name)
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The part of the engine's own environment that a step in a sandbox sees. Where temporary files
/// go outside means nothing inside.
fn allowed(host: &Host, allow: &Allow) -> Host {
    let mut env = passed(host, &[]);
    env.remove("TMPDIR");
    for name in &allow.env {
        if let Some(value) = host.get(name) {
            env.insert(name.clone(), value.clone());
        }
    }
    env
}

/// The variables that a plan and a step declare, rendered, each name once.
pub fn declared(plan: &[EnvVar], step: &[EnvVar], scope: &dyn Scope) -> Result<Env, EvalError> {
    let mut env = Host::new();
    for EnvVar { name, value } in plan.iter().chain(step) {
        env.insert(name.to_string(), value.render(scope)?);
    }
    Ok(env.into_iter().collect())
}

/// The environment of a check: nothing that the worker could have put there. Parameters were
/// fixed before it began.
pub fn of_check(
    host: &Host,
    workspace: &Path,
    params: &Object,
    own: &[EnvVar],
    scope: &dyn Scope,
) -> Result<Env, EvalError> {
    let mut env: Host = BASE_OF_CHECKS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), host.get(*name)?.clone())))
        .collect();
    env.extend(named("WF_PARAM_", params));
    env.extend(declared(&[], own, scope)?);
    env.insert("WF_WORKSPACE".into(), workspace.display().to_string());
    Ok(env.into_iter().collect())
}

/// What templates read before a run begins: its parameters, if those are known.
pub(super) struct ParamsAlone<'a>(pub(super) Option<&'a Object>);

impl Scope for ParamsAlone<'_> {
    fn value(&self, name: &Ref) -> Option<Value> {
        match name {
            Ref::Param(param) => self.0?.get(param).cloned(),
            _ => None,
        }
    }

    fn test(&self, _: StatusTest, _: Option<&str>) -> bool {
        false
    }
}

/// What templates of an item of a repeated step read before a run begins: besides the parameters
/// its own values, where the file says them.
pub(super) struct ItemAlone<'a> {
    pub(super) params: ParamsAlone<'a>,
    pub(super) item: Option<&'a Value>,
}

impl Scope for ItemAlone<'_> {
    fn value(&self, name: &Ref) -> Option<Value> {
        match name {
            Ref::Item => self.item.cloned(),
            Ref::Matrix(axis) => self.item?.get(axis).cloned(),
            other => self.params.value(other),
        }
    }

    fn test(&self, _: StatusTest, _: Option<&str>) -> bool {
        false
    }
}

/// What a template of a step may be before a run begins: once, or once for each item that the
/// file says. What cannot be known yet is left out.
pub(super) fn known_so_far(
    step: &Step,
    template: &Template,
    params: Option<&Object>,
) -> Vec<String> {
    rendered_so_far(step, params, |scope| template.render(scope).ok())
}

/// What a glob of a step may be before a run begins.
pub(super) fn globs_so_far(step: &Step, glob: &Template, params: Option<&Object>) -> Vec<String> {
    rendered_so_far(step, params, |scope| files::glob_so_far(glob, scope))
}

fn rendered_so_far(
    step: &Step,
    params: Option<&Object>,
    render: impl Fn(&dyn Scope) -> Option<String>,
) -> Vec<String> {
    let items: Vec<Option<Value>> = match &step.fan {
        Fan::Once | Fan::Each(_) => vec![None],
        Fan::List(items) => items.iter().cloned().map(Some).collect(),
        Fan::Matrix(cells) => {
            let cells = cells.iter().cloned();
            cells.map(|cell| Some(Value::Object(cell))).collect()
        }
    };
    let of_item = |item: &Option<Value>| {
        let (params, item) = (ParamsAlone(params), item.as_ref());
        render(&ItemAlone { params, item })
    };
    let mut all: Vec<String> = items.iter().filter_map(of_item).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The same for every attempt of a place of a run, and for nothing else: 32 hexadecimal digits.
pub fn idempotency_key(run: &RunId, step: &str, item_key: Option<&str>) -> String {
    let mut parts = vec![run.as_str().as_bytes(), step.as_bytes()];
    parts.extend(item_key.map(str::as_bytes));
    Digest::of_parts(parts)
        .to_string()
        .chars()
        .take(32)
        .collect()
}

/// The engine's own variables.
fn own(parts: &Parts<'_>) -> Env {
    let Attempt { place, attempt } = parts.attempt;
    let key = parts.item.map(|item| item.key.as_str());
    let mut env = vec![
        ("WF_RUN".into(), parts.run.to_string()),
        ("WF_STEP".into(), place.step.to_string()),
        ("WF_ATTEMPT".into(), attempt.to_string()),
        ("WF_OUTPUT".into(), parts.output.display().to_string()),
        ("WF_WORKSPACE".into(), parts.workspace.display().to_string()),
        (
            "WF_IDEMPOTENCY_KEY".into(),
            idempotency_key(parts.run, place.step.as_str(), key),
        ),
    ];
    env.extend(named("WF_PARAM_", parts.params));
    env.extend(parts.correction.iter().cloned());
    if let (Some(item), Some(index)) = (parts.item, place.item) {
        env.push(("WF_ITEM_KEY".into(), item.key.clone()));
        env.push(("WF_ITEM_INDEX".into(), index.to_string()));
        match (&item.value, parts.fan) {
            (Value::Object(axes), Fan::Matrix(_)) => env.extend(named("WF_MATRIX_", axes)),
            (value, _) => env.push(("WF_ITEM".into(), text(value))),
        }
    }
    env
}

fn named(prefix: &str, values: &Object) -> Env {
    values
        .iter()
        .map(|(name, value)| (format!("{prefix}{}", name.to_uppercase()), text(value)))
        .collect()
}

/// Text as it is, all else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Globs that cannot be read name nothing; the configuration's reader has refused them.
fn name_globs(pass: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in pass.iter().filter_map(|glob| Glob::new(glob).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests;
