//! The way to the program keeping goals on a backend.

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use super::deployment::{GoalAct, GoalAnswer, GoalRequest, RecordBatch};
use crate::{
    CliExitCode, CommandError, Host, Workspace,
    config::WorkspaceConfig,
    runs::backend::{BackendCommand, backend_command},
};
use wf_base::digest::Sha256Digest;

/// A backend for goals.
pub(super) struct GoalBackend {
    name: String,
    command: BackendCommand,
    root: PathBuf,
}

impl GoalBackend {
    /// Finds the program of a backend; refused if there is no such backend, or no program.
    pub(super) fn of(
        host: &Host,
        config: &WorkspaceConfig,
        workspace: &Workspace,
        name: &str,
    ) -> Result<Self, CommandError> {
        let command = backend_command(host, config, name, "goal")?;
        Ok(Self { name: name.to_owned(), command, root: workspace.root.clone() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Stores what a goal needs there; returns the id its workflow is to have, and the object it starts with.
    pub(super) fn prepare(
        &self,
        deployment: super::deployment::GoalDeployment,
    ) -> Result<PreparedGoal, CommandError> {
        match self.ask(&GoalRequest::Prepare(Box::new(deployment)))? {
            GoalAnswer::Prepared { workflow, spec } => Ok(PreparedGoal { workflow, spec }),
            answer => Err(self.unexpected(&answer)),
        }
    }

    /// Starts a prepared goal, unless that was done before.
    pub(super) fn start(&self, prepared: PreparedGoal) -> Result<(), CommandError> {
        let PreparedGoal { workflow, spec } = prepared;
        self.done(&GoalRequest::Start { workflow, spec })
    }

    pub(super) fn records(&self, workflow: &str, after: u64) -> Result<RecordBatch, CommandError> {
        match self.ask(&GoalRequest::Records { workflow: workflow.to_owned(), after })? {
            GoalAnswer::Records(batch) => Ok(batch),
            answer => Err(self.unexpected(&answer)),
        }
    }

    pub(super) fn act(&self, workflow: &str, act: GoalAct) -> Result<(), CommandError> {
        self.done(&GoalRequest::Act { workflow: workflow.to_owned(), act })
    }

    fn done(&self, request: &GoalRequest) -> Result<(), CommandError> {
        match self.ask(request)? {
            GoalAnswer::Done => Ok(()),
            answer => Err(self.unexpected(&answer)),
        }
    }

    /// Asks the program, and waits for its answer.
    fn ask(&self, request: &GoalRequest) -> Result<GoalAnswer, CommandError> {
        let unable = |error: std::io::Error| self.failure(&format!("cannot ask its program: {error}"));
        let BackendCommand { program, args, env } = &self.command;
        #[expect(clippy::disallowed_methods, reason = "it answers one request, and is awaited here")]
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(env.iter().cloned()).current_dir(&self.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(unable)?;
        if let Some(mut input) = child.stdin.take() {
            // A program that reads no more says why in its answer.
            let _ = input.write_all(&serde_json::to_vec(request).unwrap_or_default());
        }
        let output = child.wait_with_output().map_err(unable)?;
        match serde_json::from_slice(&output.stdout) {
            Ok(GoalAnswer::Failed(reason)) => Err(self.failure(&reason)),
            Ok(answer) => Ok(answer),
            Err(_) if output.stdout.is_empty() => {
                let stderr_text = String::from_utf8_lossy(&output.stderr);
                let message = stderr_text.trim();
                Err(self.failure(if message.is_empty() {
                    "its program ended without an answer"
                } else {
                    message
                }))
            }
            Err(error) => {
                Err(self
                    .failure(&format!("its program answers with something that wf does not know: {error}")))
            }
        }
    }

    fn unexpected(&self, answer: &GoalAnswer) -> CommandError {
        self.failure(&format!("its program gives another answer than was asked for: {answer:?}"))
    }

    fn failure(&self, reason: &str) -> CommandError {
        CommandError::new(CliExitCode::State, format!("backend `{}`: {reason}", self.name))
    }
}

/// A prepared goal.
pub(super) struct PreparedGoal {
    /// The id its workflow is to have.
    pub(super) workflow: String,
    /// The object it starts with.
    pub(super) spec: Sha256Digest,
}
