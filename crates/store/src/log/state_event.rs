use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::column::{MomentColumn, RowColumns, integer};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{RunApproval, RunOutcome, Standing, StepCounts};

/// An event of the log belonging to no run, about the state as a whole. It has number 0 of a run of its own,
/// whose key is its number in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateEvent {
    pub at: Moment,
    #[serde(flatten)]
    pub fact: StateFact,
}

/// A change to the state as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum StateFact {
    /// The bodies of the events of runs were removed.
    RunsPruned {
        runs: Vec<PrunedRun>,
        /// The uses of approvals that those events recorded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        uses: Vec<ApprovalUse>,
    },
    /// The stored files of runs were removed; all else of the runs stays.
    ArtifactsPruned {
        runs: Vec<PrunedArtifacts>,
    },
    /// Uses of approvals were carried over from the state a backup replaced.
    UsesCarried {
        uses: Vec<ApprovalUse>,
        /// The withdrawals unknown to the backup.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdrawals: Vec<WithdrawnApproval>,
    },
    /// A standing approval of a goal was withdrawn.
    ApprovalWithdrawn(WithdrawnApproval),
    ConnectionApproved(ApprovalUse),
    /// A result was stored for reuse.
    ResultCached {
        /// The digest of everything it depends on.
        cache_key: Sha256Digest,
        /// The digest of the row in the table `cache`.
        result: Sha256Digest,
    },
    /// Bodies of events `rows_recorded` were removed, with rows memory does not have any more.
    RowsErased {
        /// The events, with what is left of each.
        events: Vec<ErasedRows>,
    },
    /// The state of an earlier version was brought up to date.
    StateMigrated {
        /// The number of migrations before.
        from: u32,
        /// The number of migrations afterwards.
        to: u32,
        /// The program that did it.
        wf: String,
    },
    /// Rows of the tables of goals, memory, connections or sessions were written or removed.
    RowsRecorded {
        /// The digest of a snapshot of all tables; the event changes nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        whole: Option<Sha256Digest>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        tables: BTreeMap<String, TableChange>,
    },
}

/// The changes of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableChange {
    /// The rows written: a list of the values of all columns each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Value>,
    /// The rows removed: a list of the values of the key each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Value>,
}

/// The withdrawal of a standing approval: nothing is started under it any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WithdrawnApproval {
    pub nonce: String,
    pub goal: PlanId,
    /// The approver, by the name of their key; `None`: they have none.
    pub who: Option<String>,
    pub since: Moment,
}

/// A run whose bodies were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedRun {
    /// The key: the number of its first event in the log.
    pub key: i64,
    pub id: RunId,
    /// Its summary, which is kept for ever; `None`: it was nested in another run, or pruned by a version without summaries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<RunSummary>,
}

/// A run whose stored files were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedArtifacts {
    /// The key: the number of its first event in the log.
    pub key: i64,
    pub id: RunId,
}

/// A use of an approval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ApprovalUse {
    pub nonce: String,
    /// The number of the use, from 1.
    pub execution: u32,
    /// SHA-256 of the signed token.
    pub token: Sha256Digest,
    /// The id of the run that used it, or `connection:` and a name.
    pub run: String,
}

/// An event `rows_recorded`, or `rows_erased`, whose body was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedRows {
    /// The number of the event in the log.
    pub seq: u64,
    pub at: Moment,
    /// The changes it recorded, without the erased rows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, TableChange>,
}

/// The rest of a run pruned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    pub plan: PlanId,
    /// The path of its spec.
    pub path: String,
    /// The time it was recorded.
    pub created: Moment,
    pub ended: Moment,
    pub outcome: RunOutcome,
    /// The verification status of the result.
    pub standing: Standing,
    /// The reason for its outcome, cut to 200 bytes; empty for success.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The number of steps by final state.
    pub counts: StepCounts,
}

impl ApprovalUse {
    /// Returns the use by which a run was started; `None` if it was approved in that moment.
    pub(crate) fn of(run: &str, approved: &RunApproval) -> Option<Self> {
        (approved.execution > 0).then(|| Self {
            nonce: approved.nonce.clone(),
            execution: approved.execution,
            token: approved.token,
            run: run.to_owned(),
        })
    }
}

impl StateFact {
    /// Returns the uses of approvals it records.
    pub(crate) fn uses(&self) -> &[ApprovalUse] {
        match self {
            Self::RunsPruned { uses, .. } | Self::UsesCarried { uses, .. } => uses,
            Self::ConnectionApproved(one) => std::slice::from_ref(one),
            Self::ApprovalWithdrawn(_)
            | Self::ArtifactsPruned { .. }
            | Self::ResultCached { .. }
            | Self::RowsErased { .. }
            | Self::StateMigrated { .. }
            | Self::RowsRecorded { .. } => &[],
        }
    }

    /// Returns the withdrawals of approvals it records.
    pub(crate) fn withdrawals(&self) -> &[WithdrawnApproval] {
        match self {
            Self::RunsPruned { .. }
            | Self::ArtifactsPruned { .. }
            | Self::ConnectionApproved(_)
            | Self::ResultCached { .. }
            | Self::RowsErased { .. }
            | Self::StateMigrated { .. }
            | Self::RowsRecorded { .. } => &[],
            Self::UsesCarried { withdrawals, .. } => withdrawals,
            Self::ApprovalWithdrawn(one) => std::slice::from_ref(one),
        }
    }

    /// Returns the changes of recorded tables.
    pub(crate) fn tables(&self) -> &BTreeMap<String, TableChange> {
        const NONE: &BTreeMap<String, TableChange> = &BTreeMap::new();
        match self {
            Self::RowsRecorded { tables, .. } => tables,
            _ => NONE,
        }
    }

    /// Returns the runs it records as pruned.
    pub(crate) fn pruned(&self) -> &[PrunedRun] {
        match self {
            Self::RunsPruned { runs, .. } => runs,
            Self::ArtifactsPruned { .. }
            | Self::UsesCarried { .. }
            | Self::ApprovalWithdrawn(_)
            | Self::ConnectionApproved(_)
            | Self::ResultCached { .. }
            | Self::RowsErased { .. }
            | Self::StateMigrated { .. }
            | Self::RowsRecorded { .. } => &[],
        }
    }
}

/// The bodies removed, by the records of it in the log.
#[derive(Debug, Default)]
pub(crate) struct GoneBodies {
    /// The keys of the runs pruned, and of the events of no run erased.
    pub(crate) keys: BTreeSet<i64>,
    /// The rest of each erased event, by its number.
    pub(crate) rows: BTreeMap<i64, ErasedRows>,
    /// The keys of the runs whose stored files were removed.
    pub(crate) files: BTreeSet<i64>,
}

/// Reads which bodies were removed.
pub(crate) fn gone(connection: &Connection) -> rusqlite::Result<GoneBodies> {
    let mut gone = GoneBodies::default();
    for event in all(connection)? {
        gone.keys.extend(event.fact.pruned().iter().map(|run| run.key));
        match event.fact {
            StateFact::RowsErased { events } => {
                for erased in events {
                    let seq = integer(erased.seq);
                    gone.keys.insert(seq);
                    gone.rows.insert(seq, erased);
                }
            }
            StateFact::ArtifactsPruned { runs } => gone.files.extend(runs.iter().map(|run| run.key)),
            _ => {}
        }
    }
    Ok(gone)
}

/// The bodies the log records as removed, read on first use.
#[derive(Default)]
pub(crate) struct GoneBodiesOnDemand(Option<GoneBodies>);

impl GoneBodiesOnDemand {
    pub(crate) fn get(&mut self, connection: &Connection) -> rusqlite::Result<&GoneBodies> {
        let known = match self.0.take() {
            Some(known) => known,
            None => gone(connection)?,
        };
        Ok(self.0.insert(known))
    }
}

/// Applies an event belonging to no run to the projections, except the recorded tables.
pub(crate) fn show(connection: &Connection, fact: &StateFact) -> rusqlite::Result<()> {
    apply_uses(connection, fact.uses())?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO revoked_approvals (nonce, goal, who, at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
    )?;
    for one in fact.withdrawals() {
        insert.execute((&one.nonce, one.goal.as_str(), &one.who, MomentColumn(one.since)))?;
    }
    Ok(())
}

/// Applies uses to the projection.
pub(crate) fn apply_uses(connection: &Connection, uses: &[ApprovalUse]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO approval_uses (nonce, execution, token, run) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for one in uses {
        insert.execute((&one.nonce, one.execution, one.token.to_string(), &one.run))?;
    }
    Ok(())
}

/// True if a body of the log is that of an event `rows_recorded`.
pub(crate) fn is_row_change(body: &str) -> bool {
    const HEAD: usize = 64;
    let head = body.as_bytes().get(..HEAD).unwrap_or_default();
    head.windows(WORD.len()).any(|window| window == WORD)
}

/// The word for such an event, behind its time.
const WORD: &[u8] = br#""event":"rows_recorded""#;

/// Finds the first events of all runs without reading those between: one index lookup each.
pub(crate) const KEYS: &str = "WITH RECURSIVE keys (key) AS (
         SELECT min(run) FROM events
         UNION ALL SELECT (SELECT min(run) FROM events WHERE run > key) FROM keys
             WHERE key IS NOT NULL)";

/// Returns the query of columns of the events belonging to no run, except those that record rows.
pub(crate) fn query(columns: &str) -> String {
    // Searching for a word is cheaper than parsing JSON.
    format!(
        "{KEYS} SELECT {columns} FROM keys JOIN events ON run = key AND run_seq = 0
         WHERE (instr(body, '\"runs_pruned\"') OR instr(body, '\"uses_carried\"')
                 OR instr(body, '\"approval_withdrawn\"') OR instr(body, '\"connection_approved\"')
                 OR instr(body, '\"rows_erased\"') OR instr(body, '\"state_migrated\"')
                 OR instr(body, '\"artifacts_pruned\"'))
             AND kind IN ('runs_pruned', 'uses_carried', 'approval_withdrawn', 'connection_approved',
                 'rows_erased', 'state_migrated', 'artifacts_pruned')"
    )
}

/// Returns the events of the log belonging to no run, except those that record rows.
pub(crate) fn all(connection: &Connection) -> rusqlite::Result<Vec<StateEvent>> {
    connection.prepare_cached(&query("body"))?.query_map([], |row| row.json(0))?.collect()
}
