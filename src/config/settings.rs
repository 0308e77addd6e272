use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ConfigFile, Durability, LogsFile, RetentionFile, SandboxFile};
use crate::model::{Autonomy, OnFailure, Policy, Replan};
use crate::name::GateId;
use crate::source::Spanned;
use crate::spec::Defaults;

/// The configuration of a workspace, complete.
#[derive(Clone, Debug)]
pub struct Config {
    /// What holds where a plan says nothing.
    pub defaults: Defaults,
    /// Whether it says `replan.strict`; else that depends on where a run begins.
    pub says_strict: bool,
    /// What is safe when the machine loses power.
    pub durability: Durability,
    /// Where checks, and steps with `allow`, run.
    pub sandbox: Sandbox,
    /// What is kept of the output of attempts.
    pub logs: Logs,
    /// How long finished runs are kept.
    pub retention: Retention,
    /// After how much activity the auditor writes a report.
    pub audit_window: Duration,
    /// When it is proposed to let a goal do more, or less, by itself.
    pub autonomy: Autonomy,
    /// Patterns of variables of the environment that every step sees.
    pub env_pass: Vec<String>,
    /// The gates that hold for every plan, before its own, and where they are named.
    pub gates: Vec<Spanned<GateId>>,
}

impl Config {
    /// The ids of the gates that hold for every plan, in order.
    pub fn gates(&self) -> Vec<GateId> {
        self.gates.iter().map(|id| id.value.clone()).collect()
    }

    /// The same where a run begins in surroundings that are strict or not: that holds where
    /// neither a plan nor this says it.
    #[must_use]
    pub fn begun(mut self, strict: bool) -> Self {
        if !self.says_strict {
            self.defaults.replan.strict = strict;
        }
        self
    }
}

/// Where checks, and steps with `allow`, run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Whether there is a sandbox; without one they run as any process does.
    pub on: bool,
    /// Files and folders that may be read in every one besides the workspace: relative to the
    /// workspace, absolute, or below the home folder (`~/…`).
    pub read: Vec<String>,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            on: true,
            read: Vec::new(),
        }
    }
}

impl From<SandboxFile> for Sandbox {
    fn from(file: SandboxFile) -> Self {
        match file {
            SandboxFile::Is(on) => Self {
                on,
                read: Vec::new(),
            },
            SandboxFile::With(reads) => Self {
                on: true,
                read: reads.read.into_iter().map(|path| path.value.0).collect(),
            },
        }
    }
}

/// What is kept of the output of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logs {
    /// How many bytes are kept of one attempt: its beginning and its end.
    pub max_bytes: u64,
}

/// How long finished runs are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The age at which a finished run goes.
    pub max_age: Option<Duration>,
    /// How many finished runs are kept.
    pub max_runs: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            defaults: Defaults {
                policy: Policy {
                    max_parallel: u32::try_from(processors).unwrap_or(u32::MAX),
                    on_failure: OnFailure::default(),
                    grace: Duration::from_secs(10),
                },
                retry: Arc::default(),
                replan: Replan::default(),
            },
            says_strict: false,
            durability: Durability::default(),
            sandbox: Sandbox::default(),
            logs: Logs {
                max_bytes: 64 << 20,
            },
            retention: Retention::default(),
            audit_window: Duration::from_mins(5),
            autonomy: Autonomy::default(),
            env_pass: Vec::new(),
            gates: Vec::new(),
        }
    }
}

impl From<ConfigFile> for Config {
    /// What a file says, completed by the defaults.
    fn from(file: ConfigFile) -> Self {
        let plain = Self::default();
        let logs = file.logs.unwrap_or(LogsFile { max_bytes: None });
        let retention = file.retention.unwrap_or(RetentionFile {
            max_age: None,
            max_runs: None,
        });
        Self {
            says_strict: file
                .replan
                .as_ref()
                .is_some_and(|said| said.strict.is_some()),
            defaults: plain.defaults.completing(
                file.policy.as_ref(),
                file.retry.as_ref(),
                file.replan.as_ref(),
            ),
            durability: file.durability,
            sandbox: file.sandbox.map(Sandbox::from).unwrap_or_default(),
            logs: Logs {
                max_bytes: logs.max_bytes.map_or(plain.logs.max_bytes, |size| size.0),
            },
            retention: Retention {
                max_age: retention.max_age.map(|period| period.0),
                max_runs: retention.max_runs,
            },
            audit_window: file
                .audit
                .and_then(|audit| audit.window)
                .map_or(plain.audit_window, |window| window.0),
            autonomy: file
                .autonomy
                .map_or(plain.autonomy, |said| said.completed()),
            env_pass: file.env_pass.into_iter().map(|glob| glob.value).collect(),
            gates: file.gates,
        }
    }
}
