use serde::{Deserialize, Serialize};

use wf_model::FailureClass;

/// The end of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkExit {
    /// The process exited by itself; success is code 0.
    Code {
        /// Its exit code.
        code: i32,
    },
    /// The process was ended by a signal that the engine did not send.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// Work that is no process completed: a wait, a nested run, a request.
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
