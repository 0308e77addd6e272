//! Spawning, and ending, process groups. The only place that starts a process.

use std::path::PathBuf;

use super::Env;

/// What is executed, without a shell, in a process group of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program, looked up in the `PATH` of `env` as a shell does, and its arguments.
    pub argv: Vec<String>,
    /// The whole environment; nothing is inherited.
    pub env: Env,
    /// Where it runs; absolute.
    pub cwd: PathBuf,
}
