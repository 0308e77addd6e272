use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::health::BreakerNote;
use crate::machine::event::EventKind;
use crate::machine::evidence::Artifact;
use crate::machine::exit::WorkExit;
use crate::machine::ledger::AttemptUsage;
use crate::machine::left_process::LeftProcesses;
use crate::machine::observations::NestedFindings;
use crate::machine::standing::Standing;
use crate::machine::task_id::Attempt;
use wf_base::digest::Sha256Digest;
use wf_model::{FailureClass, JsonObject};

/// The end of an attempt's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// The attempt.
    pub attempt: Attempt,
    /// The exit.
    pub exit: WorkExit,
    /// The outputs that it wrote to its output file, read but not yet checked.
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
    /// The time for which a server asked not to be called again. A retry waits for it, as far as `max_delay` allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// The findings of the nested run that it was, if rounds follow from them.
    #[serde(default, flatten)]
    pub findings: Box<NestedFindings>,
    /// The files that the results inside a nested run were checked with, if it is verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Artifact>,
    /// A verified file of an earlier step that changed while the attempt read it as it lay there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped_file: Option<String>,
    /// The resources that it reported as used, however it ended.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
    /// The processes that it left running, if it succeeded.
    #[serde(default, flatten)]
    pub left: LeftProcesses,
    /// The digest of its log; `None`: it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogDigest>,
    /// The changes of breakers that it caused, except by calls of models.
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
    /// Creates the end of an attempt that left nothing but its exit.
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
