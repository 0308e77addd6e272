use serde::{Deserialize, Serialize};

use wf_base::name::RunId;
use wf_core::machine::Attempt;

use crate::{
    processes::probe::{ProbeJob, ProbeOutcome},
    work::attempt::{ProcessJob, ProcessOutcome},
    work_error::StopLevel,
};

/// An attempt of a run, as known to a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunAttempt {
    pub run: RunId,
    pub attempt: Attempt,
}

/// A request of an engine: the first message of a connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorRequest {
    /// Runs the work of an attempt. It continues if the engine dies.
    Run {
        task: RunAttempt,
        /// The work and its limits.
        job: Box<ProcessJob>,
        /// True to show the output.
        show: bool,
    },
    /// Runs a probe ending with the connection.
    Probe(Box<ProbeJob>),
    /// Follows an attempt an engine requested earlier.
    Follow {
        task: RunAttempt,
        /// True to show the output.
        show: bool,
    },
    /// Ends everything that steps left running, forgets everything and exits. The connection stays
    /// open until then.
    Conclude,
    /// Seals a run: nothing of it begins any more.
    Seal { run: RunId },
}

/// A follow-up message of an engine to its request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum RequestFollowUp {
    /// Terminates the work.
    End(StopLevel),
}

/// The answer of a supervisor: the last message of a connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorReply {
    /// The work of an attempt ended.
    Gone(Box<ProcessOutcome>),
    /// A probe ended; its output was sent before.
    Probed(Box<ProbeOutcome>),
    /// The supervisor does no work for such an attempt.
    Unknown,
    /// The run is sealed.
    Sealed,
}
