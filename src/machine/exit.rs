use serde::{Deserialize, Serialize};

use crate::model::Class;

/// How a piece of work ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Exit {
    /// A process ended by itself; success is code 0.
    Code {
        /// Its exit code.
        code: i32,
    },
    /// A process was ended by a signal that the engine did not send.
    Signal {
        /// The signal's number.
        signal: i32,
    },
    /// It did what was asked and is no process: a wait, a nested run, a request.
    Done,
    /// It took longer than it may.
    TimedOut,
    /// The engine ended it because it was told to.
    Cancelled,
    /// It could not begin, or what it was given or gave is not usable.
    Unable {
        /// Why, in one sentence.
        why: String,
        /// Whose fault.
        class: Class,
    },
    /// The engine died while it ran, and nobody knows how it ended.
    Interrupted,
}

impl Exit {
    /// Whether the work says it succeeded.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Code { code: 0 } | Self::Done)
    }

    /// Whose fault a failure is. Codes 126 and 127 are the shell's words for a program that
    /// cannot be executed or found.
    pub fn class(&self) -> Option<Class> {
        match self {
            Self::Code { code: 0 } | Self::Done | Self::Cancelled => None,
            Self::Code { code: 126 | 127 } | Self::Signal { .. } | Self::TimedOut => {
                Some(Class::Environmental)
            }
            Self::Code { .. } => Some(Class::Logical),
            Self::Unable { class, .. } => Some(*class),
            Self::Interrupted => Some(Class::Interrupted),
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { signal } => write!(f, "ended by signal {signal}"),
            Self::Done => write!(f, "done"),
            Self::TimedOut => write!(f, "timed out"),
            Self::Cancelled => write!(f, "cancelled"),
            Self::Unable { why, .. } => write!(f, "{why}"),
            Self::Interrupted => write!(f, "interrupted: nobody saw how it ended"),
        }
    }
}
