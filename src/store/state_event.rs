use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::column::{At, Json};
use super::uses;
use crate::digest::Digest;
use crate::machine::Approved;
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// An event of the log that belongs to no run: something was done to the state as a whole. It has
/// number 0 of a run of its own, whose key is its place in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateEvent {
    /// When.
    pub at: Moment,
    /// What.
    #[serde(flatten)]
    pub fact: StateFact,
}

/// What was done to the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum StateFact {
    /// The bodies of the events of runs were removed.
    RunsPruned {
        /// The runs.
        runs: Vec<PrunedRun>,
        /// The uses of approvals that those events recorded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        uses: Vec<ApprovalUse>,
    },
    /// Uses of approvals were taken over from the state that a backup replaced.
    UsesCarried {
        /// The uses.
        uses: Vec<ApprovalUse>,
        /// The withdrawals that it did not know.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdrawals: Vec<WithdrawnApproval>,
    },
    /// Somebody withdrew a standing approval of a goal.
    ApprovalWithdrawn(WithdrawnApproval),
}

/// A standing approval that somebody withdrew: nothing begins under it any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WithdrawnApproval {
    /// What makes the approval different from all others.
    pub nonce: String,
    /// Its goal.
    pub goal: PlanId,
    /// Who, by the name of their key; `None`: they have none.
    pub who: Option<String>,
    /// When.
    pub since: Moment,
}

/// A run whose bodies were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedRun {
    /// Its key: the place of its first event in the log.
    pub key: i64,
    /// Its id.
    pub id: RunId,
}

/// A use of an approval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ApprovalUse {
    /// What makes the approval different from all others.
    pub nonce: String,
    /// Which of the uses that it allows, from 1.
    pub execution: u32,
    /// SHA-256 of what was signed.
    pub token: Digest,
    /// The id of the run that used it.
    pub run: String,
}

impl ApprovalUse {
    /// The use by which a run began; `None` if the approval was made in the same moment.
    pub(super) fn of(run: &str, approved: &Approved) -> Option<Self> {
        (approved.execution > 0).then(|| Self {
            nonce: approved.nonce.clone(),
            execution: approved.execution,
            token: approved.token,
            run: run.to_owned(),
        })
    }
}

impl StateFact {
    /// The uses of approvals that it records.
    pub(super) fn uses(&self) -> &[ApprovalUse] {
        match self {
            Self::RunsPruned { uses, .. } | Self::UsesCarried { uses, .. } => uses,
            Self::ApprovalWithdrawn(_) => &[],
        }
    }

    /// The withdrawals of approvals that it records.
    pub(super) fn withdrawals(&self) -> &[WithdrawnApproval] {
        match self {
            Self::RunsPruned { .. } => &[],
            Self::UsesCarried { withdrawals, .. } => withdrawals,
            Self::ApprovalWithdrawn(one) => std::slice::from_ref(one),
        }
    }

    /// The runs whose bodies it says were removed.
    pub(super) fn pruned(&self) -> &[PrunedRun] {
        match self {
            Self::RunsPruned { runs, .. } => runs,
            Self::UsesCarried { .. } | Self::ApprovalWithdrawn(_) => &[],
        }
    }
}

/// Shows an event that belongs to no run in the projections.
pub(super) fn show(connection: &Connection, fact: &StateFact) -> rusqlite::Result<()> {
    uses::show(connection, fact.uses())?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO withdrawn (nonce, goal, who, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
    )?;
    for one in fact.withdrawals() {
        insert.execute((&one.nonce, one.goal.as_str(), &one.who, At(one.since)))?;
    }
    Ok(())
}

/// Finds the first events of all runs without reading those between: one look into the index each.
pub(super) const KEYS: &str = "WITH RECURSIVE keys (key) AS (
         SELECT min(run) FROM events
         UNION ALL SELECT (SELECT min(run) FROM events WHERE run > key) FROM keys
             WHERE key IS NOT NULL)";

/// The events of the log that belong to no run.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<StateEvent>> {
    // To look for a word costs less than to read JSON.
    let sql = format!(
        "{KEYS} SELECT body FROM keys JOIN events ON run = key AND n = 0
         WHERE (instr(body, '\"runs_pruned\"') OR instr(body, '\"uses_carried\"')
                 OR instr(body, '\"approval_withdrawn\"'))
             AND kind IN ('runs_pruned', 'uses_carried', 'approval_withdrawn')"
    );
    connection
        .prepare_cached(&sql)?
        .query_map([], |row| row.get::<_, Json<_>>(0).map(|event| event.0))?
        .collect()
}
