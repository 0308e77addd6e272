use serde::{Deserialize, Serialize};

use crate::machine::event::EventKind;
use wf_base::time::Moment;

/// A fact about a run: the record's unit and the public event format, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Event {
    /// The time.
    pub at: Moment,
    /// The fact.
    #[serde(flatten)]
    pub fact: EventKind,
}
