use serde::{Deserialize, Serialize};

use super::LogAnchor;
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RefId, RunId, SessionName},
    time::Moment,
};

/// An act outside of any run, or on the state as a whole. More will be added; an unknown word is
/// read as [`WorkspaceAction::Unknown`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum WorkspaceAction {
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
        name: String,
    },
    /// A browser asked for its public key to be added to the approvers.
    KeyRequested {
        /// Its id.
        key: Sha256Digest,
    },
    /// A public key was added to the approvers.
    KeyEnrolled {
        /// Its id.
        key: Sha256Digest,
        /// The name of the approver.
        name: String,
        /// The key of the approver who signed for it, by its id; absent: it was added in a terminal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed_by: Option<Sha256Digest>,
    },
    KeyRevoked {
        /// Its id.
        key: Sha256Digest,
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
        end: LogAnchor,
    },
    /// The tables beside the log were rebuilt from it.
    Repaired {
        /// The number of differences from the log before.
        differences: u64,
    },
    /// Runs were pruned: the bodies of their events were removed, the hashes stay.
    Pruned {
        runs: u64,
        /// The position of the record in the database's log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        db: Option<LogAnchor>,
    },
    /// Uses of approvals were carried over from the state a backup replaced.
    UsesCarried {
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
        /// The keys of the approvers who signed the file, by their ids; none: what it brings are claims.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        signed_by: Vec<Sha256Digest>,
    },
    /// Megrams and notes were forgotten at the user's request.
    MemoryForgotten {
        megrams: u64,
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
    /// The user confirmed a megram a file brought.
    MegramTrusted {
        /// The megram, by its id.
        megram: Sha256Digest,
        /// The trust, in one word.
        trust: String,
    },
    /// A person shared a note of a session with all sessions.
    NotePromoted {
        /// The note, by its id.
        note: Sha256Digest,
        session: SessionName,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A session began, was suspended or resumed, or ended.
    SessionChanged {
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
        goal: PlanId,
        repair: RunId,
        /// The opinion, in one word.
        opinion: String,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A standing approval of a goal was withdrawn.
    ApprovalWithdrawn {
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
    GoalPaused {
        goal: PlanId,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    GoalResumed {
        goal: PlanId,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A goal was deployed on a backend, which decides about it from then on.
    GoalDeployed {
        goal: PlanId,
        backend: String,
        /// The id of its workflow there.
        workflow: String,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A deployed goal was recalled: its workspace decides about it again, once what is under way has ended.
    GoalRecalled {
        goal: PlanId,
        backend: String,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A browser asked for a reconciliation now.
    GoalRequested {
        goal: PlanId,
        /// The time for which it is due.
        slot: Moment,
    },
    /// A browser asked for the undo of a run.
    UndoRequested {
        /// The run that is undone.
        run: RunId,
    },
    /// A browser saved a file of a run.
    ArtifactRead {
        run: RunId,
        /// The file, by its digest.
        artifact: Sha256Digest,
    },
    /// A browser ended the login of another one.
    LoginEnded {
        /// The login that was ended, by its id.
        ended: String,
    },
    /// A browser asked for the end of a run.
    RunCancelRequested { run: RunId },
    /// A browser asked for a run to go on.
    RunResumeRequested { run: RunId },
    /// A browser asked for a run that repeats what did not succeed.
    RunRetryRequested {
        /// The run that is repeated.
        run: RunId,
    },
    /// A browser started a plan.
    RunRequested {
        plan: PlanId,
        /// The texts of the plan.
        plan_digest: Sha256Digest,
        /// The resolved parameters.
        params_digest: Sha256Digest,
        /// The run that came of it.
        run: RunId,
    },
    /// A browser asked for the run a suggestion names.
    SuggestionRequested { suggestion: u32 },
    SuggestionDismissed {
        suggestion: u32,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// Past scheduled times were made due.
    GoalBackfilled {
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
        /// The skill managing it.
        skill: String,
        /// The digest of the skill's files.
        digest: Sha256Digest,
        /// The permissions granted by the service.
        permissions: Vec<String>,
        /// The user's key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Sha256Digest>,
    },
    /// A browser entered a secret for the setup of a connection waiting for it.
    SecretStored {
        connection: PlanId,
        /// The id standing for the secret.
        ref_id: RefId,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
