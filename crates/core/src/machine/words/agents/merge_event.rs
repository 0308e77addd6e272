//! The facts about the merge of an agent's worktree (DESIGN section 13).

use serde::{Deserialize, Serialize};

use crate::machine::words::{Attempt, Standing};

/// The changes of an attempt are to be merged: its checks have passed, or it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergeRequest {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The verification status of its step once they are merged.
    pub standing: Standing,
}

/// A merge as it was computed, without anything written. Versions are named by git commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergePlan {
    /// The workspace when the agent began.
    pub base: String,
    /// The worktree when it ended.
    pub result: String,
    /// The workspace before the merge.
    pub before: String,
    /// The workspace after the merge.
    pub after: String,
    /// The git repository with these commits.
    pub repository: String,
    /// The files changed by the agent, relative to the workspace.
    pub files: Vec<String>,
}

/// The beginning merge of an attempt. Durable before a file is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergeStart {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The merge.
    #[serde(flatten)]
    pub plan: MergePlan,
}

/// The end of the merge of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergeEnd {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: MergeOutcome,
}

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "merge", rename_all = "snake_case")]
pub enum MergeOutcome {
    /// The changes are in the workspace.
    Merged,
    /// There were no changes.
    Unchanged,
    /// A person merged them.
    ByHand,
    /// A file changed after the merge was computed, so nothing was written: it is computed anew.
    Outdated,
    /// The changes are not in the workspace, or not all of them.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// The merge of an attempt, as it would be done now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum MergePreparation {
    /// The agent changed nothing.
    Unchanged,
    /// Nothing is in its way.
    Clean {
        /// The merge.
        plan: Box<MergePlan>,
        /// The changes as approvers see them, masked and cut.
        diff: String,
    },
    /// The workspace was changed in the same places.
    Conflict {
        /// The merge; the version after it has conflict markers.
        plan: Box<MergePlan>,
        /// The files with conflicts.
        files: Vec<String>,
    },
    /// It cannot be determined.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// The merge in a request for approval. The attempt is one of the waiting task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergeSubject {
    /// The number of the attempt.
    pub attempt: u32,
    /// The workspace when the agent began: a git commit.
    pub base: String,
    /// The worktree when it ended: a git commit.
    pub result: String,
    /// True if an approval means a merge by hand.
    pub by_hand: bool,
}
