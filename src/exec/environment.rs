//! The environments of steps and of checks, built from nothing.

use std::path::Path;

use super::{Env, Host};
use crate::expr::{EvalError, Scope};
use crate::machine::{Attempt, Item};
use crate::model::{EnvVar, Fan, Object};
use crate::name::RunId;

/// What the environment of a step is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The engine's own environment.
    pub host: &'a Host,
    /// Globs of further names that a step may see of it.
    pub pass: &'a [String],
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
    /// The workspace's root.
    pub workspace: &'a Path,
}

/// The environment of a step.
pub fn of_step(_parts: &Parts<'_>, _scope: &dyn Scope) -> Result<Env, EvalError> {
    todo!()
}

/// The variables that the plan and the step declare, rendered: what a cache key depends on.
pub fn declared(_parts: &Parts<'_>, _scope: &dyn Scope) -> Result<Env, EvalError> {
    todo!()
}

/// The environment of a check.
pub fn of_check(
    _host: &Host,
    _workspace: &Path,
    _own: &[EnvVar],
    _scope: &dyn Scope,
) -> Result<Env, EvalError> {
    todo!()
}

/// The same for every attempt of a place of a run, and for nothing else.
pub fn idempotency_key(_run: &RunId, _step: &str, _item_key: Option<&str>) -> String {
    todo!()
}
