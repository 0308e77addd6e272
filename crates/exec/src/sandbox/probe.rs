//! The guards this machine can enforce, determined by a trial.

use std::{path::Path, time::Duration};

use wf_core::machine::WorkExit;

use super::{IsolationKind, SandboxSpec};
use crate::{
    processes::{probe, process::ProcessCommand},
    work::executor::ProcessExecutor,
    work_error::StopLevel,
};

/// The abilities of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolationSupport {
    /// The guards in force.
    pub isolation: Vec<IsolationKind>,
    /// The reason why there can be no sandbox, with the remedy; `None`: there can.
    pub why_not: Option<String>,
}

/// Runs an empty command in a sandbox with a workspace.
pub fn ability(root: &Path) -> IsolationSupport {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(try_it(root)),
        Err(error) => IsolationSupport { isolation: Vec::new(), why_not: Some(error.to_string()) },
    }
}

async fn try_it(root: &Path) -> IsolationSupport {
    let command = ProcessCommand {
        sandbox: Some(SandboxSpec { root: root.to_path_buf(), ..SandboxSpec::default() }),
        ..ProcessCommand::new(vec!["true".into()], Vec::new(), root.to_path_buf())
    };
    let trial = probe::ProbeJob {
        command,
        timeout: Duration::from_secs(10),
        grace: Duration::from_secs(1),
        keep: 1024,
        output: None,
        role: probe::ProbeRole::Observer,
    };
    let probed = ProcessExecutor::InProcess.probe(trial, StopLevel::never()).await;
    let isolation = probed.isolation.unwrap_or_default();
    let why_not = match probed.exit {
        WorkExit::Code { code: 0 } => None,
        other => Some(other.to_string()),
    };
    IsolationSupport { isolation, why_not }
}
