//! The program of backends on Temporal: `wf-temporal worker` does the work of runs, and `wf run --on NAME` starts
//! `wf-temporal follow`.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use wf_app::{CliExitCode, CommandError, Host, config::Backend, goals::GoalAnswer, keep};
use wf_engine::FromBackend;
use wf_exec::{agent_tool, sandbox};
use wf_temporal::{
    ConnectError, FollowError, GoalProgramError, WorkerFailure, WorkerPlace, answer_goal_request,
    configured_backend, connect, follow, log_line, say, work,
};

/// The commands of `wf`, for the readers of a worker's log.
#[path = "../../../src/actions.rs"]
mod actions;

/// Runs of wf on Temporal.
#[derive(Parser, Debug)]
#[command(version)]
struct WorkerCli {
    #[command(subcommand)]
    command: WorkerCommand,
}

#[derive(Subcommand, Debug)]
enum WorkerCommand {
    /// Do the work of runs until this program is told to end
    Worker {
        /// Backend, as wf.yaml names it
        #[arg(value_name = "NAME")]
        backend: String,
        /// Name of a queue whose steps this worker does
        #[arg(long = "queue", value_name = "QUEUE", default_value = "default")]
        queues: Vec<String>,
        /// Folder for the runs of this worker, which nothing else uses
        #[arg(long, value_name = "DIR")]
        folder: PathBuf,
        /// Name of this worker, which no other one has
        #[arg(long, value_name = "NAME")]
        identity: Option<String>,
    },
    /// Act on the deployed goal that standard input names: `wf goal deploy` and others do this
    #[command(hide = true)]
    Goal {
        /// Backend, as wf.yaml names it
        #[arg(value_name = "NAME")]
        backend: String,
    },
    /// Follow the run that standard input names: `wf run --on` does this
    #[command(hide = true)]
    Follow {
        /// Backend, as wf.yaml names it
        #[arg(value_name = "NAME")]
        backend: String,
    },
}

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let stage = sandbox::stage(&args).or_else(|| agent_tool::stage(&args));
    if let Some(ended) = stage.or_else(|| keep::run_supervisor(&args)) {
        return ended;
    }
    let cli = WorkerCli::parse();
    let (is_follow, is_goal) = (
        matches!(cli.command, WorkerCommand::Follow { .. }),
        matches!(cli.command, WorkerCommand::Goal { .. }),
    );
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_follow => {
            say(&FromBackend::Failed(error.to_string()));
            ExitCode::FAILURE
        }
        Err(error) if is_goal => {
            say(&GoalAnswer::Failed(error.to_string()));
            ExitCode::FAILURE
        }
        Err(error) => {
            log_line(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The reason why this program fails.
#[derive(Debug, thiserror::Error)]
enum WorkerProgramError {
    #[error("cannot start threads: {0}")]
    Threads(std::io::Error),
    /// The workspace does not have the backend, or its key.
    #[error("{0}")]
    Workspace(String),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Worker(#[from] WorkerFailure),
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Goal(#[from] GoalProgramError),
}

impl From<CommandError> for WorkerProgramError {
    fn from(error: CommandError) -> Self {
        Self::Workspace(error.message)
    }
}

fn run(command: WorkerCommand) -> Result<(), WorkerProgramError> {
    // Clients of object stores take the provider of the process; that there is one already is no mistake.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(WorkerProgramError::Threads)?;
    let role = if matches!(command, WorkerCommand::Worker { .. }) { "worker" } else { "follower" };
    let host = Host::read_as(role)?;
    let done = runtime.block_on(async {
        match command {
            WorkerCommand::Worker { backend, queues, folder, identity } => {
                let identity = identity.unwrap_or_else(|| std::process::id().to_string());
                let (backend, key) = backend_of(&host, &backend)?;
                let client =
                    connect(&backend.temporal, &host.workspace().root, key, identity.clone()).await?;
                let action_words = actions::command_text;
                work(&backend, client, WorkerPlace { folder, queues, identity, host, action_words }).await?;
            }
            WorkerCommand::Follow { backend } => {
                let (backend, key) = backend_of(&host, &backend)?;
                let client = connect(&backend.temporal, &host.workspace().root, key, "wf".to_owned()).await?;
                follow(&backend, client, &host).await?;
            }
            WorkerCommand::Goal { backend } => {
                let (backend, key) = backend_of(&host, &backend)?;
                let client = connect(&backend.temporal, &host.workspace().root, key, "wf".to_owned()).await?;
                answer_goal_request(&backend, &client, &host).await?;
            }
        }
        Ok(())
    });
    // A thread may still read standard input, which ends only with whoever started this program.
    runtime.shutdown_background();
    done
}

/// Returns a backend of the workspace, and its key.
fn backend_of(host: &Host, name: &str) -> Result<(Backend, Option<String>), CommandError> {
    let backend = configured_backend(host, name)?;
    let key = match &backend.temporal.key {
        None => None,
        Some(variable) => Some(host.var(variable).map(str::to_owned).ok_or_else(|| {
            let message =
                format!("the variable {variable}, which has the key of backend `{name}`, is not set");
            CommandError::new(CliExitCode::Usage, message)
        })?),
    };
    Ok((backend, key))
}
