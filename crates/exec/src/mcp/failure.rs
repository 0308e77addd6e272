use std::time::Duration;

use wf_core::machine::WorkExit;

/// The reason why a request to a server has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum McpFailure {
    /// The server cannot be started.
    #[error("it cannot be started: {0}")]
    NotStarted(String),
    /// The server has ended.
    #[error("it ended ({exit}){}", last(.said))]
    Ended {
        exit: WorkExit,
        /// The last line of its messages, masked by nobody.
        said: String,
    },
    /// There is no reply in time.
    #[error("it did not reply within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// A message is too long.
    #[error("it sent a message of more than {0} bytes")]
    TooLong(usize),
    /// A message is not one of the protocol.
    #[error("it wrote something that is no message of the protocol: {0}")]
    NotAMessage(String),
    /// The server refused the request.
    #[error("it refused `{method}`: {reason}")]
    Refused {
        /// The method of the request.
        method: String,
        reason: String,
    },
    /// The server speaks another version.
    #[error("it speaks the unknown version `{0}` of the protocol")]
    Version(String),
}

impl McpFailure {
    /// True if the process was ended since its own time was over, which is the time of the attempt.
    pub fn is_end_of_life(&self) -> bool {
        matches!(self, Self::Ended { exit: WorkExit::TimedOut, .. })
    }
}

fn last(said: &str) -> String {
    let line = said.lines().rev().find(|line| !line.trim().is_empty());
    line.map(|line| format!(": {}", line.trim())).unwrap_or_default()
}
