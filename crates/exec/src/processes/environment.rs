//! Builds the environments of steps and of checks from scratch.
//!
//! The last value of a name wins; the engine's own variables come last, so that nothing can
//! impersonate them.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;

use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{Attempt, StepItem};
use wf_model::{
    EnvVar, JsonObject, SandboxPermissions, Step, StepRepetition,
    expr::{EvalError, ExprReference, ExprScope, StatusFunction, Template},
};

use crate::{HostEnv, ProcessEnv, disk::files};

/// The variables of the engine's environment every step sees, besides `LC_*`.
const BASE_VARIABLES: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"];

/// The variables passing a correction to an attempt.
const CORRECTION: [&str; 2] = ["WF_CORRECTION", "WF_CORRECTION_FILE"];

/// The variables of the engine's environment every check sees.
const CHECK_VARIABLES: [&str; 2] = ["PATH", "HOME"];

/// The sources of a step's environment.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentSources<'a> {
    /// The engine's own environment.
    pub host: &'a HostEnv,
    /// The part visible to every step: [`passed_variables`].
    pub passed: &'a HostEnv,
    /// The grants, if the step runs in a sandbox: then it sees only the names granted there.
    pub permissions: Option<&'a SandboxPermissions>,
    /// The plan's variables.
    pub plan_env: &'a [EnvVar],
    /// The step's variables.
    pub step_env: &'a [EnvVar],
    /// The plan's resolved parameters.
    pub params: &'a JsonObject,
    pub run: &'a RunId,
    /// The part the idempotency keys of all tasks of the run share.
    pub key_scope: &'a str,
    pub attempt: &'a Attempt,
    /// The item, where the step is repeated.
    pub item: Option<&'a StepItem>,
    /// The fan-out of a repeated step.
    pub repetition: &'a StepRepetition,
    /// The output file.
    pub output: &'a Path,
    /// The variables passing the correction to the attempt; empty for the first attempt.
    pub correction: &'a ProcessEnv,
    /// The workspace's root.
    pub workspace: &'a Path,
}

pub fn of_step(sources: &EnvironmentSources<'_>, scope: &dyn ExprScope) -> Result<ProcessEnv, EvalError> {
    let mut env = match sources.permissions {
        None => sources.passed.clone(),
        Some(allow) => allowed_variables(sources.host, allow),
    };
    for (name, value) in declared_variables(sources.plan_env, sources.step_env, scope)? {
        env.insert(name, value);
    }
    // Only the engine sets corrections.
    env.retain(|name, _| !CORRECTION.contains(&name.as_str()));
    for (name, value) in engine_variables(sources) {
        env.insert(name, value);
    }
    Ok(env.into_iter().collect())
}

/// Returns the part of the engine's own environment that steps may see: a fixed list, and the names matching globs.
pub fn passed_variables(host: &HostEnv, pass: &[String]) -> HostEnv {
    let globs = name_globs(pass);
    host.iter()
        .filter(|(name, _)| {
            BASE_VARIABLES.contains(&name.as_str()) || name.starts_with("LC_") || globs.is_match(name)
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the part of the engine's own environment a step in a sandbox sees. `TMPDIR` is dropped: it names a folder
/// outside.
fn allowed_variables(host: &HostEnv, permissions: &SandboxPermissions) -> HostEnv {
    let mut env = passed_variables(host, &[]);
    env.remove("TMPDIR");
    for name in &permissions.env {
        if let Some(value) = host.get(name) {
            env.insert(name.clone(), value.clone());
        }
    }
    env
}

/// Renders the variables a plan and a step declare, each name once.
pub fn declared_variables(
    plan_env: &[EnvVar],
    step_env: &[EnvVar],
    scope: &dyn ExprScope,
) -> Result<ProcessEnv, EvalError> {
    let mut env = HostEnv::new();
    for EnvVar { name, value } in plan_env.iter().chain(step_env) {
        env.insert(name.to_string(), value.render(scope)?);
    }
    Ok(env.into_iter().collect())
}

/// Returns the environment of a check: nothing the worker could have set. Parameters were fixed before it began.
pub fn of_check(
    host: &HostEnv,
    workspace: &Path,
    params: &JsonObject,
    own_env: &[EnvVar],
    scope: &dyn ExprScope,
) -> Result<ProcessEnv, EvalError> {
    let mut env: HostEnv = CHECK_VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), host.get(*name)?.clone())))
        .collect();
    env.extend(prefixed_variables("WF_PARAM_", params));
    env.extend(declared_variables(&[], own_env, scope)?);
    env.insert("WF_WORKSPACE".into(), workspace.display().to_string());
    Ok(env.into_iter().collect())
}

/// The values that templates may use before a run begins: its parameters, if they are known, and
/// those of an item, if the file lists them.
pub(crate) struct KnownValues<'a> {
    pub(crate) params: Option<&'a JsonObject>,
    pub(crate) item: Option<&'a Value>,
}

impl<'a> KnownValues<'a> {
    /// Returns the parameters alone.
    pub(crate) fn of_params(params: Option<&'a JsonObject>) -> Self {
        Self { params, item: None }
    }
}

impl ExprScope for KnownValues<'_> {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        match reference {
            ExprReference::Param(param) => self.params?.get(param).cloned(),
            ExprReference::Item => self.item.cloned(),
            ExprReference::Matrix(axis) => self.item?.get(axis).cloned(),
            _ => None,
        }
    }

    fn test(&self, _: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

/// Returns the possible values of a step's template before a run begins: one, or one for each item listed in the file.
/// Values not known yet are left out.
pub(crate) fn known_so_far(step: &Step, template: &Template, params: Option<&JsonObject>) -> Vec<String> {
    rendered_so_far(step, params, |scope| template.render(scope).ok())
}

/// Returns the possible values of a step's glob before a run begins.
pub(crate) fn globs_so_far(step: &Step, glob: &Template, params: Option<&JsonObject>) -> Vec<String> {
    rendered_so_far(step, params, |scope| files::glob_so_far(glob, scope))
}

fn rendered_so_far(
    step: &Step,
    params: Option<&JsonObject>,
    render: impl Fn(&dyn ExprScope) -> Option<String>,
) -> Vec<String> {
    let items: Vec<Option<Value>> = match &step.fan {
        StepRepetition::Once | StepRepetition::Each(_) => vec![None],
        StepRepetition::List(items) => items.iter().cloned().map(Some).collect(),
        StepRepetition::Matrix(cells) => {
            let cells = cells.iter().cloned();
            cells.map(|cell| Some(Value::Object(cell))).collect()
        }
    };
    let of_item = |item: &Option<Value>| render(&KnownValues { params, item: item.as_ref() });
    let mut texts: Vec<String> = items.iter().filter_map(of_item).collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Returns 32 hexadecimal digits: the same for every attempt of a task in a scope, unique to it.
pub fn idempotency_key(scope: &str, step: &str, item_key: Option<&str>) -> String {
    let mut parts = vec![scope.as_bytes(), step.as_bytes()];
    parts.extend(item_key.map(str::as_bytes));
    Sha256Digest::of_parts(parts).to_string().chars().take(32).collect()
}

/// Returns the engine's own variables.
fn engine_variables(sources: &EnvironmentSources<'_>) -> ProcessEnv {
    let Attempt { task_id, attempt } = sources.attempt;
    let key = sources.item.map(|item| item.key.as_str());
    let mut env = vec![
        ("WF_RUN".into(), sources.run.to_string()),
        ("WF_STEP".into(), task_id.step.to_string()),
        ("WF_ATTEMPT".into(), attempt.to_string()),
        ("WF_OUTPUT".into(), sources.output.display().to_string()),
        ("WF_WORKSPACE".into(), sources.workspace.display().to_string()),
        ("WF_IDEMPOTENCY_KEY".into(), idempotency_key(sources.key_scope, task_id.step.as_str(), key)),
    ];
    env.extend(prefixed_variables("WF_PARAM_", sources.params));
    env.extend(sources.correction.iter().cloned());
    if let (Some(item), Some(index)) = (sources.item, task_id.item) {
        env.push(("WF_ITEM_KEY".into(), item.key.clone()));
        env.push(("WF_ITEM_INDEX".into(), index.to_string()));
        match (&item.value, sources.repetition) {
            (Value::Object(axes), StepRepetition::Matrix(_)) => {
                env.extend(prefixed_variables("WF_MATRIX_", axes));
            }
            (value, _) => env.push(("WF_ITEM".into(), text(value))),
        }
    }
    env
}

fn prefixed_variables(prefix: &str, values: &JsonObject) -> ProcessEnv {
    values.iter().map(|(name, value)| (format!("{prefix}{}", name.to_uppercase()), text(value))).collect()
}

/// Renders text as it is and everything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Compiles globs for names. Invalid globs match nothing; the configuration reader has refused them.
fn name_globs(pass: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in pass.iter().filter_map(|glob| Glob::new(glob).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests;
