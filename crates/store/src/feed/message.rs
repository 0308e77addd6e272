use serde::{Deserialize, Serialize};

use super::WorkspaceAction;
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::EventKind;

/// An event or act, in its public form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusMessage {
    /// The time.
    pub at: Moment,
    /// The run it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanId>,
    /// The tasks above the run, outermost first, if it is nested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The login of the browser that asked for an act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<ActLogin>,
    /// The content.
    #[serde(flatten)]
    pub kind: BusMessageKind,
}

/// The login of a browser or a program at the pages of a workspace. It says which one, not which person: whoever has its
/// key uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActLogin {
    /// Its id.
    pub id: String,
    /// The name it had when it asked.
    pub name: String,
}

/// The position of an event in the database's log: its number there, and its hash.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct LogAnchor {
    /// Its number, from one.
    pub seq: u64,
    /// The hash, which covers all events before it.
    pub hash: Sha256Digest,
}

/// The content of a message. More kinds will be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum BusMessageKind {
    /// A run was recorded; its events follow.
    Recorded {
        /// The position in the log.
        at: LogAnchor,
    },
    /// An event of a run became durable.
    Event {
        /// The position in the log.
        at: LogAnchor,
        /// Its number in the run, from one.
        n: u64,
        /// The event.
        fact: Box<EventKind>,
    },
    /// An act outside of any run.
    Act(WorkspaceAction),
}

impl BusMessage {
    /// Makes a message about an act outside of any run.
    pub fn act(at: Moment, act: WorkspaceAction) -> Self {
        Self { at, run: None, plan: None, path: Vec::new(), login: None, kind: BusMessageKind::Act(act) }
    }

    /// True if it should be written at once: it is the end of an outermost run, or an act.
    pub fn is_urgent(&self) -> bool {
        match &self.kind {
            BusMessageKind::Act(_) => true,
            BusMessageKind::Event { fact, .. } => {
                self.path.is_empty() && matches!(**fact, EventKind::RunEnded { .. })
            }
            BusMessageKind::Recorded { .. } => false,
        }
    }

    /// Returns the position of its event in the database, if it is about one.
    pub fn anchor(&self) -> Option<LogAnchor> {
        match &self.kind {
            BusMessageKind::Recorded { at } | BusMessageKind::Event { at, .. } => Some(*at),
            BusMessageKind::Act(WorkspaceAction::UsesCarried { db, .. }) => Some(*db),
            BusMessageKind::Act(
                WorkspaceAction::Pruned { db, .. } | WorkspaceAction::ApprovalWithdrawn { db, .. },
            ) => *db,
            BusMessageKind::Act(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BusMessage, BusMessageKind, WorkspaceAction};
    use wf_base::time::Moment;

    #[test]
    fn an_act_of_a_later_version_is_read() {
        let act: WorkspaceAction = serde_json::from_str("{\"act\":\"danced\",\"how\":\"well\"}").unwrap();
        assert_eq!(act, WorkspaceAction::Unknown);
        let pruned = BusMessage::act(Moment::default(), WorkspaceAction::Pruned { runs: 2, db: None });
        let text = serde_json::to_string(&pruned).unwrap();
        assert_eq!(serde_json::from_str::<BusMessage>(&text).unwrap(), pruned);
        assert!(matches!(pruned.kind, BusMessageKind::Act(_)) && pruned.is_urgent());
    }
}
