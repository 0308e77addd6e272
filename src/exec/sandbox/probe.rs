//! What this machine can enforce, found out by doing it.

use super::{Guard, Layer, Sandbox};
use crate::exec::process::Command;
use crate::exec::{Hands, Stop, probe};
use crate::machine::Exit;
use crate::model::Limits;
use std::path::Path;
use std::time::Duration;

/// What a sandbox would enforce here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ability {
    /// What holds.
    pub guards: Vec<Guard>,
    /// Why there can be no sandbox, with the remedy; `None`: there can.
    pub why_not: Option<String>,
}

/// Starts a command that does nothing in a sandbox round a workspace.
pub fn ability(root: &Path) -> Ability {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(try_it(root)),
        Err(error) => Ability {
            guards: Vec::new(),
            why_not: Some(error.to_string()),
        },
    }
}

async fn try_it(root: &Path) -> Ability {
    let sandbox = Sandbox {
        root: root.to_path_buf(),
        layer: Layer::Scratch {
            whiteouts: Vec::new(),
        },
        read: Vec::new(),
        granted: Vec::new(),
        hidden: Vec::new(),
        home: None,
        network: false,
        programs: None,
        limits: Limits::default(),
    };
    let command = Command {
        argv: vec!["true".into()],
        env: Vec::new(),
        cwd: root.to_path_buf(),
        sandbox: Some(sandbox),
        pins: None,
        input: None,
    };
    let trial = probe::Probe {
        command,
        timeout: Duration::from_secs(10),
        grace: Duration::from_secs(1),
        keep: 1024,
        output: None,
    };
    let (_stop, heard) = tokio::sync::watch::channel(Stop::No);
    let probed = Hands::Own.probe(trial, heard).await;
    let guards = probed.guards.unwrap_or_default();
    let why_not = match probed.exit {
        Exit::Code { code: 0 } => None,
        other => Some(other.to_string()),
    };
    Ability { guards, why_not }
}
