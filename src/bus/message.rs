use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::machine::Fact;
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// Something that happened, as everybody may know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// When.
    pub at: Moment,
    /// The run that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanId>,
    /// The places above the run, outermost first, where it is nested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// Where an event stands in the database's log: its number there, and its hash.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Bound {
    /// Its number, from one.
    pub seq: u64,
    /// Its hash, which binds it to all events before it.
    pub hash: Digest,
}

/// What a message says. More will be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// A run was recorded; its events follow.
    Recorded {
        /// Where.
        at: Bound,
    },
    /// An event of a run became durable.
    Event {
        /// Where it stands.
        at: Bound,
        /// Its number in the run, from one.
        n: u64,
        /// The event.
        fact: Box<Fact>,
    },
    /// Something was done outside of any run.
    Act(Act),
}

/// Something that was done outside of any run, or to the state as a whole. More will be added; a
/// word that is not known is read as [`Act::Unknown`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Act {
    /// A run was not begun.
    RunRefused {
        /// The path of its spec.
        path: String,
        /// Why, in a few words that hold no values.
        reason: String,
    },
    /// A plan, or something in a run, was approved.
    Approved {
        /// What: the scope of the approval.
        scope: String,
        /// The key that signed, by its id.
        key: Digest,
    },
    /// An approval was denied.
    Denied {
        /// What: the scope of what was asked.
        scope: String,
        /// The key that signed, by its id.
        key: Digest,
    },
    /// A key was made.
    KeyMade {
        /// Its id.
        key: Digest,
        /// Its name.
        name: String,
    },
    /// A key was revoked.
    KeyRevoked {
        /// Its id.
        key: Digest,
        /// Its name.
        name: String,
    },
    /// A gate was tried outside of a run.
    GateTested {
        /// Its id.
        gate: String,
        /// What it answered, in one word.
        action: String,
    },
    /// The state was copied.
    BackedUp {
        /// Where the copy's log ends.
        end: Bound,
    },
    /// A backup was put in the place of the state.
    Restored {
        /// When the backup was made.
        made: Moment,
        /// Where its log ends.
        end: Bound,
    },
    /// Runs were forgotten: the bodies of their events went, the hashes stay.
    Pruned {
        /// How many.
        runs: u64,
        /// Where the database's log says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        db: Option<Bound>,
    },
    /// Uses of approvals were taken over from the state that a backup replaced.
    UsesCarried {
        /// How many.
        uses: u64,
        /// Where the database's log says so.
        db: Bound,
    },
    /// The heads of both logs were written down.
    Checkpointed {
        /// The key that signed them, by its id; absent: nobody did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// Megrams were read from a file.
    MemoryImported {
        /// How many were new.
        megrams: u64,
    },
    /// Megrams were forgotten because somebody asked for it.
    MemoryForgotten {
        /// How many.
        megrams: u64,
    },
    /// The Dreamer changed what is remembered.
    MemoryDreamt {
        /// How many megrams went.
        forgotten: u64,
        /// How many rules are rules no more.
        demoted: u64,
        /// How many rules were made.
        promoted: u64,
    },
    /// Somebody contradicted a rule of memory.
    MemoryFeedback {
        /// The rule, by its id.
        rule: Digest,
        /// What was added, by its id.
        megram: Digest,
    },
    /// Somebody said what they think of a repair of a goal.
    GoalFeedback {
        /// The goal.
        goal: PlanId,
        /// The run that repaired.
        repair: RunId,
        /// What they think, in one word.
        opinion: String,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// Somebody withdrew a standing approval of a goal.
    ApprovalWithdrawn {
        /// The goal.
        goal: PlanId,
        /// The approval, by its nonce.
        nonce: String,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
        /// Where the database's log says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        db: Option<Bound>,
    },
    /// Somebody paused a goal.
    GoalPaused {
        /// The goal.
        goal: PlanId,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// Somebody ended the pause of a goal.
    GoalResumed {
        /// The goal.
        goal: PlanId,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// Somebody asked for slots of the past to begin.
    GoalBackfilled {
        /// The goal.
        goal: PlanId,
        /// The first of the slots.
        from: Moment,
        /// The last of them.
        to: Moment,
        /// How many are to begin.
        slots: u64,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// A connection was set up.
    ConnectionAdded {
        /// Its name.
        connection: PlanId,
        /// The skill that looks after it.
        skill: String,
        /// The digest of the skill's files.
        digest: Digest,
        /// What the service granted.
        permissions: Vec<String>,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// The token of a connection was replaced.
    ConnectionRefreshed {
        /// Its name.
        connection: PlanId,
        /// Why, in a word: `token_ends`, `dormant` or `unhealthy`.
        why: String,
    },
    /// A connection does not work, and could not be made to.
    ConnectionFailed {
        /// Its name.
        connection: PlanId,
        /// Why, in a word.
        failure: String,
    },
    /// A person let a connection do more.
    ConnectionGranted {
        /// Its name.
        connection: PlanId,
        /// What it may do now.
        permissions: Vec<String>,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// A connection was removed, and its secrets with it.
    ConnectionRemoved {
        /// Its name.
        connection: PlanId,
        /// Their key, by its id; absent: they have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// A daemon took the lead: it decides about slots.
    DaemonLed {
        /// What it writes under: one higher than that of any daemon before.
        token: u64,
        /// Its process.
        pid: u32,
    },
    /// Something that a later version does.
    #[serde(other)]
    Unknown,
}

impl Message {
    /// A message about something that was done outside of any run.
    pub fn act(at: Moment, act: Act) -> Self {
        Self {
            at,
            run: None,
            plan: None,
            path: Vec::new(),
            what: What::Act(act),
        }
    }

    /// Whether it should be kept at once: it is the end of an outermost run, or an act.
    pub fn is_urgent(&self) -> bool {
        match &self.what {
            What::Act(_) => true,
            What::Event { fact, .. } => {
                self.path.is_empty() && matches!(**fact, Fact::RunEnded { .. })
            }
            What::Recorded { .. } => false,
        }
    }

    /// Where its event stands in the database, if it is about one.
    pub fn bound(&self) -> Option<Bound> {
        match &self.what {
            What::Recorded { at } | What::Event { at, .. } => Some(*at),
            What::Act(Act::UsesCarried { db, .. }) => Some(*db),
            What::Act(Act::Pruned { db, .. } | Act::ApprovalWithdrawn { db, .. }) => *db,
            What::Act(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, Message, What};
    use crate::time::Moment;

    #[test]
    fn an_act_of_a_later_version_is_read() {
        let act: Act = serde_json::from_str("{\"act\":\"danced\",\"how\":\"well\"}").unwrap();
        assert_eq!(act, Act::Unknown);
        let pruned = Message::act(Moment::default(), Act::Pruned { runs: 2, db: None });
        let text = serde_json::to_string(&pruned).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), pruned);
        assert!(matches!(pruned.what, What::Act(_)) && pruned.is_urgent());
    }
}
