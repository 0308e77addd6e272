//! A process that is run for what it prints: a check, a program that knows a secret.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::head::Head;
use super::process::{self, Command};
use super::sandbox::Guard;
use super::supervise::{End, Limits, supervise};
use super::tree::Pause;
use super::{Ends, Stop, sandbox};
use crate::machine::Exit;

/// What is run, and how much of what it prints counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The process.
    pub command: Command,
    /// The longest it may take.
    pub timeout: Duration,
    /// The time between asking it to end and killing it.
    pub grace: Duration,
    /// How much of either output is kept, in bytes.
    pub keep: usize,
    /// How much it may print before it is killed, in bytes.
    pub output: Option<u64>,
}

/// How a probe ended, and what it printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// How.
    pub exit: Exit,
    /// The beginning of its standard output.
    pub out: Vec<u8>,
    /// The beginning of its standard error.
    pub err: Vec<u8>,
    /// Whether its standard output went on.
    pub truncated: bool,
    /// What its sandbox enforced; `None`: it had none.
    pub guards: Option<Vec<Guard>>,
    /// The end of both.
    pub ends: Ends,
}

impl Probed {
    /// A probe of which nothing is known but how it ended.
    pub(super) fn silent(exit: Exit) -> Self {
        Self {
            exit,
            out: Vec::new(),
            err: Vec::new(),
            truncated: false,
            guards: None,
            ends: Ends::default(),
        }
    }
}

/// Runs a probe to its end, or ends it. All that it starts bears `mark`.
pub async fn run(probe: Probe, mark: &str, stop: watch::Receiver<Stop>) -> Probed {
    let limits = Limits {
        timeout: Some(probe.timeout),
        grace: probe.grace,
        output: probe.output,
    };
    let mut head = Head::new(probe.keep);
    sandbox::prepare(&probe.command).await;
    // What looks from a sandbox can reach nothing that steps left running, and must not see it at work.
    let pause = match &probe.command.sandbox {
        Some(sandbox) if !sandbox.network => match Pause::begin().await {
            Ok(pause) => Some(pause),
            Err(unable) => return Probed::silent(unable.into()),
        },
        _ => None,
    };
    let end = match process::spawn(&probe.command, mark) {
        Ok(process) => supervise(process, limits, stop, &mut head).await,
        Err(unable) => End::without(unable),
    };
    drop(pause);
    Probed {
        exit: end.exit,
        guards: end.guards,
        out: head.out,
        err: head.err,
        truncated: head.truncated,
        ends: head.last.ends(),
    }
}
