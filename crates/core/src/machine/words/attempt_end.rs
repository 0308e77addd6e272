//! The end of an attempt: its exit, its results, and the processes left running.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    health::BreakerNote,
    machine::words::{Artifact, Attempt, AttemptUsage, EventKind, NestedFindings, Standing},
};
use wf_base::digest::Sha256Digest;
use wf_model::{FailureClass, JsonObject};

/// The end of an attempt's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// The attempt.
    pub attempt: Attempt,
    /// The exit.
    pub exit: WorkExit,
    /// The outputs in its output file, read but not yet checked.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub outputs: JsonObject,
    /// The files it left, if it succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The verification status of a nested run's result; `None` for all other work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// The failure class according to the work's output; `None`: [`WorkExit::failure_class`] decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The pause demanded by a server. A retry waits for it, as far as `max_delay` allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// The findings of the nested run in it, if rounds follow from them.
    #[serde(default, flatten)]
    pub findings: Box<NestedFindings>,
    /// The evidence of the results inside a nested run, if it is verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Artifact>,
    /// A verified file of an earlier step, changed while the attempt read it in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped_file: Option<String>,
    /// The resources reported as used, however it ended.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
    /// The processes left running, if it succeeded.
    #[serde(default, flatten)]
    pub left: LeftProcesses,
    /// The digest of its log; `None`: it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogDigest>,
    /// The breaker changes caused by it, except by calls of models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<BreakerNote>,
}

/// The digest of a log, masked as it was stored. It covers the text, not its streams and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LogDigest {
    /// The number of bytes.
    pub size: u64,
    /// The digest of the bytes.
    pub digest: Sha256Digest,
}

impl AttemptEnd {
    /// Creates the end of an attempt with nothing but its exit.
    pub fn new(attempt: Attempt, exit: WorkExit) -> Self {
        Self {
            attempt,
            exit,
            outputs: JsonObject::new(),
            artifacts: Vec::new(),
            standing: None,
            failure_class: None,
            retry_after: None,
            findings: Box::default(),
            seen: Vec::new(),
            swapped_file: None,
            usage: AttemptUsage::default(),
            left: LeftProcesses::default(),
            log: None,
            breakers: Vec::new(),
        }
    }
}

impl From<AttemptEnd> for EventKind {
    fn from(end: AttemptEnd) -> Self {
        Self::AttemptEnded {
            attempt: end.attempt,
            how: end.exit,
            failure_class: end.failure_class,
            findings: *end.findings,
            outputs: end.outputs,
            artifacts: end.artifacts,
            standing: end.standing,
            swapped_file: end.swapped_file,
            usage: end.usage,
            left: end.left,
            log: end.log,
            breakers: end.breakers,
        }
    }
}

/// The end of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkExit {
    /// The process exited by itself; success is code 0.
    Code {
        /// Its exit code.
        code: i32,
    },
    /// The process was ended by a signal from outside of the engine.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// Work without a process completed: a wait, a nested run, a request.
    Completed,
    /// It exceeded its time limit.
    TimedOut,
    /// The engine ended it on request.
    Cancelled,
    /// It could not begin, or its inputs or outputs are not usable.
    Error {
        /// The reason, in one sentence.
        reason: String,
        /// The failure class.
        failure_class: FailureClass,
    },
    /// It failed on a denial of its sandbox, and would again.
    Denied {
        /// Its exit, the denial, and the line to write.
        reason: String,
    },
    /// The engine died while it ran, and its end is unknown.
    Interrupted,
}

impl WorkExit {
    /// True if the work reports success.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Code { code: 0 } | Self::Completed)
    }

    /// Returns the failure class. Codes 126 and 127 are the shell's codes for a program that cannot
    /// be executed or found.
    pub fn failure_class(&self) -> Option<FailureClass> {
        match self {
            Self::Code { code: 0 } | Self::Completed | Self::Cancelled => None,
            Self::Code { code: 126 | 127 } | Self::Signal { .. } | Self::TimedOut => {
                Some(FailureClass::Environmental)
            }
            Self::Code { .. } | Self::Denied { .. } => Some(FailureClass::Logical),
            Self::Error { failure_class, .. } => Some(*failure_class),
            Self::Interrupted => Some(FailureClass::Interrupted),
        }
    }
}

impl std::fmt::Display for WorkExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { signal } => write!(f, "killed by signal {signal}"),
            Self::Completed => write!(f, "done"),
            Self::TimedOut => write!(f, "timed out"),
            Self::Cancelled => write!(f, "cancelled"),
            Self::Error { reason, .. } | Self::Denied { reason } => write!(f, "{reason}"),
            Self::Interrupted => write!(f, "interrupted: its exit was not observed"),
        }
    }
}

/// A process left running at the end of its attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftProcess {
    /// Its id.
    pub pid: i32,
    /// Its start in clock ticks since the boot: with the id, unique within a boot.
    pub start_ticks: u64,
    /// Its command line, masked and cut; without its environment.
    pub command: String,
}

/// The processes left running by an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftProcesses {
    /// True if a process lives on, for later steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub service: bool,
    /// The processes left running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftProcess>,
    /// The boot of their machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    /// True if they outlive the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
}

impl LeftProcesses {
    /// Returns the command lines, in one line.
    pub fn commands(&self) -> String {
        let commands: Vec<&str> = self.left.iter().map(|process| process.command.as_str()).collect();
        commands.join(", ")
    }
}

/// A generated plan, as it was read. Durable before anything of it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanGeneration {
    /// The attempt running it.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// SHA-256 of its text, and the key of the stored text.
    pub text_digest: Sha256Digest,
    /// The reasons why it may not run: mistakes in its text, and breaches of its envelope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}
