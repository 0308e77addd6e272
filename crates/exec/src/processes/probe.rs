//! A process run for its output: a check, a program printing a secret, a tool of an agent.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use wf_core::machine::WorkExit;

use super::{
    memory_room,
    process::{self, ProcessCommand},
    supervise::{ProcessEnd, ProcessLimits, supervise},
    tails::{OutputHead, StreamTails},
    tree::PauseGuard,
};
use crate::{
    sandbox::{self, IsolationKind},
    work_error::StopLevel,
};

/// The command and the limits of a probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProbeJob {
    pub command: ProcessCommand,
    pub timeout: Duration,
    /// The grace period between the request to terminate and the kill.
    pub grace: Duration,
    /// The number of bytes kept of each output stream.
    pub keep: usize,
    /// The output size in bytes at which it is killed; `None`: unlimited.
    pub output: Option<u64>,
    /// Its relation to the steps.
    #[serde(default)]
    pub role: ProbeRole,
}

/// The relation of a probe to the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRole {
    /// It examines the work of steps from outside: the processes they left running are paused while it looks, if it has
    /// a sandbox without network and so cannot need them.
    #[default]
    Observer,
    /// It does a part of a step's work, so nothing is paused. Nothing of it stays, and as much is kept of
    /// the end of its output as of the beginning.
    Tool,
}

/// The outcome of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeOutcome {
    pub exit: WorkExit,
    /// The beginning of its standard output; a supervisor sends it apart.
    #[serde(skip)]
    pub out: Vec<u8>,
    /// The beginning of its standard error; a supervisor sends it apart.
    #[serde(skip)]
    pub err: Vec<u8>,
    /// True if standard output was cut off.
    pub truncated: bool,
    /// The number of bytes of standard output.
    #[serde(default)]
    pub printed: u64,
    /// The guards its sandbox enforced; `None`: it had none.
    pub isolation: Option<Vec<IsolationKind>>,
    pub ends: StreamTails,
}

impl ProbeOutcome {
    /// A probe with a known exit, and nothing else.
    pub(crate) fn silent(exit: WorkExit) -> Self {
        Self {
            exit,
            out: Vec::new(),
            err: Vec::new(),
            truncated: false,
            printed: 0,
            isolation: None,
            ends: StreamTails::default(),
        }
    }
}

/// Runs a probe until it exits or is terminated. Its descendants bear `mark`.
pub async fn run(probe: ProbeJob, mark: &str, stop: watch::Receiver<StopLevel>) -> ProbeOutcome {
    let is_tool = probe.role == ProbeRole::Tool;
    let limits = ProcessLimits {
        timeout: Some(probe.timeout),
        grace: probe.grace,
        output: probe.output,
        leaves_none: is_tool,
    };
    let mut head = if is_tool { OutputHead::with_end(probe.keep) } else { OutputHead::new(probe.keep) };
    // A tool is part of an agent, which has its room.
    let _room = if is_tool { None } else { Some(memory_room::wait_for_room(&stop).await) };
    let prepared = sandbox::prepare(&probe.command).await;
    // A sandboxed probe cannot reach the processes that steps left running, and must not see their changes.
    let pause = match &probe.command.sandbox {
        Some(sandbox) if !sandbox.network && !is_tool => match PauseGuard::begin().await {
            Ok(pause) => Some(pause),
            Err(unable) => return ProbeOutcome::silent(unable.into()),
        },
        _ => None,
    };
    let end = match prepared.and_then(|prepared| process::spawn(&probe.command, mark, prepared)) {
        Ok(process) => supervise(process, limits, stop, &mut head).await,
        Err(unable) => ProcessEnd::without(unable),
    };
    drop(pause);
    ProbeOutcome {
        exit: end.exit,
        isolation: end.isolation,
        out: head.out,
        err: head.err,
        truncated: head.truncated,
        printed: head.printed,
        ends: head.tail.ends(),
    }
}
