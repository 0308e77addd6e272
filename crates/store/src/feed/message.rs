use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;
use wf_base::name::{PlanId, RunId, SessionName};
use wf_base::time::Moment;
use wf_core::machine::EventKind;

/// An event or act, in its public form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusMessage {
    /// The time.
    pub at: Moment,
    /// The run that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanId>,
    /// The tasks above the run, outermost first, if it is nested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The content.
    #[serde(flatten)]
    pub what: BusMessageKind,
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

/// An act outside of any run, or on the state as a whole. More will be added; an unknown word is
/// read as [`WorkspaceAction::Unknown`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum WorkspaceAction {
    /// A run was refused.
    RunRefused {
        /// The path of its spec.
        path: String,
        /// The reason, in a few words without values.
        reason: String,
    },
    /// A plan, or something in a run, was approved.
    Approved {
        /// The scope of the approval.
        scope: String,
        /// The key that signed, by its id.
        key: Sha256Digest,
    },
    /// An approval was denied.
    Denied {
        /// The scope of the pending approval.
        scope: String,
        /// The key that signed, by its id.
        key: Sha256Digest,
    },
    /// A key was created.
    KeyMade {
        /// Its id.
        key: Sha256Digest,
        /// Its name.
        name: String,
    },
    /// A public key was added to the approvers.
    KeyEnrolled {
        /// Its id.
        key: Sha256Digest,
        /// The name of the approver.
        name: String,
    },
    /// A key was revoked.
    KeyRevoked {
        /// Its id.
        key: Sha256Digest,
        /// Its name.
        name: String,
    },
    /// A gate was tested outside of a run.
    GateTested {
        /// Its id.
        gate: String,
        /// The action it answered with, in one word.
        action: String,
    },
    /// The state was copied.
    BackedUp {
        /// The end of the copy's log.
        end: LogAnchor,
    },
    /// The state was replaced with a backup.
    Restored {
        /// The time of the backup.
        made: Moment,
        /// The end of its log.
        end: LogAnchor,
    },
    /// The tables beside the log were rebuilt from it.
    Repaired {
        /// The number of differences from the log before.
        differences: u64,
    },
    /// Runs were pruned: the bodies of their events were removed, the hashes stay.
    Pruned {
        /// The number of runs.
        runs: u64,
        /// The position of the record in the database's log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        db: Option<LogAnchor>,
    },
    /// Uses of approvals were carried over from the state that a backup replaced.
    UsesCarried {
        /// The number of uses.
        uses: u64,
        /// The position of the record in the database's log.
        db: LogAnchor,
    },
    /// A checkpoint of both logs was made.
    Checkpointed {
        /// The key that signed it, by its id; absent: it is not signed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// Megrams and notes were read from a file.
    MemoryImported {
        /// The number of new megrams.
        megrams: u64,
        /// The number of new notes.
        #[serde(default, skip_serializing_if = "is_zero")]
        notes: u64,
    },
    /// Megrams and notes were forgotten at the user's request.
    MemoryForgotten {
        /// The number of megrams.
        megrams: u64,
        /// The number of notes.
        #[serde(default, skip_serializing_if = "is_zero")]
        notes: u64,
    },
    /// The user added a note to memory.
    NoteAdded {
        /// The note, by its id.
        note: Sha256Digest,
    },
    /// The user changed the trust in a note.
    NoteTrusted {
        /// The note, by its id.
        note: Sha256Digest,
        /// The trust, in one word.
        trust: String,
    },
    /// A person shared a note of a session with all sessions.
    NotePromoted {
        /// The note, by its id.
        note: Sha256Digest,
        /// The session.
        session: SessionName,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A session began, was suspended or resumed, or ended.
    SessionChanged {
        /// The session.
        session: SessionName,
        /// Its state, in one word.
        state: String,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// Another session is current.
    SessionSwitched {
        /// The session; absent: none is current.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionName>,
    },
    /// The Dreamer changed the memory.
    MemoryDreamt {
        /// The number of forgotten megrams.
        forgotten: u64,
        /// The number of demoted rules.
        demoted: u64,
        /// The number of new rules.
        promoted: u64,
    },
    /// The user contradicted a rule of memory.
    MemoryFeedback {
        /// The rule, by its id.
        rule: Sha256Digest,
        /// The added megram, by its id.
        megram: Sha256Digest,
    },
    /// The user gave feedback on a repair of a goal.
    GoalFeedback {
        /// The goal.
        goal: PlanId,
        /// The run of the repair.
        repair: RunId,
        /// The opinion, in one word.
        opinion: String,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A standing approval of a goal was withdrawn.
    ApprovalWithdrawn {
        /// The goal.
        goal: PlanId,
        /// The approval, by its nonce.
        nonce: String,
        /// The approver's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
        /// The position of the record in the database's log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        db: Option<LogAnchor>,
    },
    /// A goal was paused.
    GoalPaused {
        /// The goal.
        goal: PlanId,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
        /// True if a page of `wf serve` asked for it: which person used the browser is not known.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        browser: bool,
    },
    /// A goal was resumed.
    GoalResumed {
        /// The goal.
        goal: PlanId,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
        /// True if a page of `wf serve` asked for it: which person used the browser is not known.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        browser: bool,
    },
    /// A browser asked for a reconciliation now.
    GoalRequested {
        /// The goal.
        goal: PlanId,
        /// The time for which it is due.
        slot: Moment,
    },
    /// Past scheduled times were made due.
    GoalBackfilled {
        /// The goal.
        goal: PlanId,
        /// The first scheduled time.
        from: Moment,
        /// The last scheduled time.
        to: Moment,
        /// The number of scheduled times made due.
        slots: u64,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A dead entry of the queue is tried again.
    Requeued {
        /// The entry, by its id.
        entry: String,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A connection was set up.
    ConnectionAdded {
        /// Its name.
        connection: PlanId,
        /// The skill that manages it.
        skill: String,
        /// The digest of the skill's files.
        digest: Sha256Digest,
        /// The permissions granted by the service.
        permissions: Vec<String>,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// The token of a connection was refreshed.
    ConnectionRefreshed {
        /// Its name.
        connection: PlanId,
        /// The reason, in a word: `token_ends`, `dormant` or `unhealthy`.
        reason: String,
    },
    /// A connection does not work, and could not be repaired.
    ConnectionFailed {
        /// Its name.
        connection: PlanId,
        /// The failure, in a word.
        failure: String,
    },
    /// The user granted a connection more permissions.
    ConnectionGranted {
        /// Its name.
        connection: PlanId,
        /// The present permissions.
        permissions: Vec<String>,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A connection was removed, and its secrets with it.
    ConnectionRemoved {
        /// Its name.
        connection: PlanId,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A daemon took the lead: it decides about scheduled times.
    DaemonLed {
        /// The token it writes under: one higher than that of any daemon before.
        token: u64,
        /// Its process.
        pid: u32,
    },
    /// An act of a later version.
    #[serde(other)]
    Unknown,
}

impl BusMessage {
    /// Makes a message about an act outside of any run.
    pub fn act(at: Moment, act: WorkspaceAction) -> Self {
        Self { at, run: None, plan: None, path: Vec::new(), what: BusMessageKind::Act(act) }
    }

    /// True if it should be written at once: it is the end of an outermost run, or an act.
    pub fn is_urgent(&self) -> bool {
        match &self.what {
            BusMessageKind::Act(_) => true,
            BusMessageKind::Event { fact, .. } => {
                self.path.is_empty() && matches!(**fact, EventKind::RunEnded { .. })
            }
            BusMessageKind::Recorded { .. } => false,
        }
    }

    /// Returns the position of its event in the database, if it is about one.
    pub fn anchor(&self) -> Option<LogAnchor> {
        match &self.what {
            BusMessageKind::Recorded { at } | BusMessageKind::Event { at, .. } => Some(*at),
            BusMessageKind::Act(WorkspaceAction::UsesCarried { db, .. }) => Some(*db),
            BusMessageKind::Act(
                WorkspaceAction::Pruned { db, .. } | WorkspaceAction::ApprovalWithdrawn { db, .. },
            ) => *db,
            BusMessageKind::Act(_) => None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
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
        assert!(matches!(pruned.what, BusMessageKind::Act(_)) && pruned.is_urgent());
    }
}
