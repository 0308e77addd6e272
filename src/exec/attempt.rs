//! One attempt of a step that is a process.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;

use super::{OnOutput, Stop, log, process::Command};
use crate::machine::Exit;
use crate::model::{Object, Output};

/// What an attempt executes, and within which limits.
#[derive(Debug)]
pub struct Job {
    /// The process.
    pub command: Command,
    /// The longest it may take.
    pub timeout: Option<Duration>,
    /// The time between asking it to end and killing it.
    pub grace: Duration,
    /// Where its output is kept.
    pub log: log::Target,
    /// The file that `WF_OUTPUT` names. Its folder exists; the file is removed after reading.
    pub output: PathBuf,
    /// The values that the file must give.
    pub outputs: Vec<Output>,
}

/// How a piece of work ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// How.
    pub exit: Exit,
    /// The values it gave, checked; empty unless it succeeded.
    pub outputs: Object,
    /// How many bytes of output are kept.
    pub logged: u64,
    /// The last lines of its output, harmless for terminals; empty if it succeeded.
    pub tail: String,
}

/// Runs a process to its end, or ends it.
pub async fn run(
    _job: Job,
    _stop: watch::Receiver<Stop>,
    _on_output: Option<OnOutput>,
) -> Finished {
    todo!()
}
