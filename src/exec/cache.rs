//! Cache keys: what the result of a step depends on.

use std::path::Path;

use serde_json::Value;

use super::{Env, Unable};
use crate::digest::Digest;
use crate::model::{Object, Output};

/// What a result depends on besides the files.
#[derive(Clone, Debug)]
pub struct Basis<'a> {
    /// What is executed: shell and script, argv, or the request, as rendered.
    pub work: Value,
    /// Where it runs, relative to the workspace.
    pub cwd: &'a str,
    /// The variables that the plan and the step declare.
    pub env: Env,
    /// The plan's parameters.
    pub params: &'a Object,
    /// The item's value, where the step is repeated.
    pub item: Option<&'a Value>,
    /// The declared outputs.
    pub outputs: &'a [Output],
}

/// The key of a result, and what it was made of, for [`differences`].
pub fn key(
    _basis: &Basis<'_>,
    _root: &Path,
    _inputs: &[String],
) -> Result<(Digest, Value), Unable> {
    todo!()
}

/// What changed between two keys' parts, one line each.
pub fn differences(_old: &Value, _new: &Value) -> Vec<String> {
    todo!()
}
