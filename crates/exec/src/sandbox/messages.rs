//! The messages between the stages of a sandbox and the supervisor.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use wf_core::machine::WorkExit;

use super::{IsolationKind, SandboxSpec};

/// The argument making this program a stage of a sandbox. It is not a user command.
pub const SANDBOX_STAGE_ARG: &str = "__box";

/// The descriptor of the [`SandboxOrder`] in JSON. Standard input is the socket for the supervisor's
/// go-ahead and the stages' [`StageMessage`]s.
pub(super) const ORDER_FD: i32 = 3;

/// The descriptor of the pipe from which the command reads, if it is fed.
pub(super) const INPUT_FD: i32 = 4;

/// The descriptor of the list of [`super::root::private`].
pub(super) const PRIVATE_LIST_FD: i32 = 5;

/// The command and its confinement.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SandboxOrder {
    pub(super) sandbox: SandboxSpec,
    pub(super) argv: Vec<String>,
    /// The whole environment, `NAME=value`.
    pub(super) env: Vec<String>,
    pub(super) cwd: PathBuf,
    /// The `PATH` in the environment.
    pub(super) path: Option<String>,
    /// The content of its standard input.
    #[serde(default)]
    pub(super) input: Option<String>,
    /// True if it reads from the pipe [`INPUT_FD`] instead.
    #[serde(default)]
    pub(super) fed: bool,
    /// The guards the supervisor enforces from outside.
    pub(super) outside: Vec<IsolationKind>,
}

/// A message of a stage to the supervisor: one line of JSON.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StageMessage {
    /// Everything requested is enforced.
    Holds(Vec<IsolationKind>),
    /// The end of the command, or the reason why it did not begin.
    Exit(WorkExit),
}
