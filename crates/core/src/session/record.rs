use serde::{Deserialize, Serialize};

use wf_base::keywords;
use wf_base::name::SessionName;
use wf_base::time::Moment;

keywords! {
    /// The state of a session.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SessionState {
        /// Runs may begin and go on in it.
        Active = "active",
        /// It was put aside: nothing begins or goes on in it.
        Suspended = "suspended",
        /// It is over, and its work is done.
        Completed = "completed",
        /// It is over, and its work was given up.
        Failed = "failed",
    }
}

impl SessionState {
    /// True if nothing changes any more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// A session, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionRecord {
    pub name: SessionName,
    pub state: SessionState,
    /// True if runs under way when it is suspended are interrupted, and do not end their steps first.
    #[serde(skip)]
    pub interrupts: bool,
    /// The reason for its state; empty if nobody gave one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time of its beginning.
    pub created: Moment,
    /// The time of the last change of its state.
    pub changed: Moment,
    /// True if what begins in the workspace belongs to it, unless something else is said.
    #[serde(rename = "current")]
    pub is_current: bool,
}

impl SessionRecord {
    /// Begins a session, which is current from now on.
    pub fn begin(name: SessionName, now: Moment) -> Self {
        Self {
            name,
            state: SessionState::Active,
            interrupts: false,
            reason: String::new(),
            created: now,
            changed: now,
            is_current: true,
        }
    }
}
