//! The files of a workspace, carried between hosts: a tree of digests when the run starts, and one change for each piece of
//! work that made a difference.
//!
//! Folders are as good as their files: an empty one is not carried. Repositories (`.git`) and the state are not carried.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;

/// The files of a workspace: path, relative to the root, and content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree(pub BTreeMap<String, TreeEntry>);

/// A file in a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeEntry {
    /// A file.
    File {
        /// SHA-256 of its content, under which it is stored.
        digest: Sha256Digest,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Its target, as written.
        target: String,
    },
}

/// The files of the workspace of a run, at one point in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRef {
    /// The object with the [`Tree`] that the run started with.
    pub base: Sha256Digest,
    /// The object with the last [`TreeNode`], if anything has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Sha256Digest>,
}

/// A change, and the one before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TreeNode {
    /// The object with the node before; `None`: the tree that the run started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha256Digest>,
    /// The change.
    pub change: TreeChange,
}

/// The differences that some work made, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeChange(pub BTreeMap<String, PathChange>);

/// The difference in one path; nothing stands for a missing file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// The entry before the work.
    pub before: Option<TreeEntry>,
    /// The entry after it.
    pub after: Option<TreeEntry>,
}

/// The place and the order in which a change was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSource {
    /// The copy of the workspace: no other copy of any host has its name.
    pub copy: String,
    /// The number of the change among those of that copy.
    pub sequence: u64,
}

/// The changes of a run so far, as far as they decide about the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeHistory(BTreeMap<String, LatestChange>);

/// The last change of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LatestChange {
    entry: Option<TreeEntry>,
    source: ChangeSource,
}

impl TreeHistory {
    /// Accepts a change, unless another host has meanwhile made one of its files something else: then nothing of it
    /// counts. Returns what every host has to do: the change, or its reversal. On one host, steps that work at the same
    /// time share its files: what it found later counts, in whatever order its changes arrive.
    pub fn accept(
        &mut self,
        mut change: TreeChange,
        source: &ChangeSource,
    ) -> Result<TreeChange, TreeConflict> {
        change.0.retain(|path, _| {
            let latest = self.0.get(path).map(|latest| &latest.source);
            latest.is_none_or(|latest| latest.copy != source.copy || latest.sequence < source.sequence)
        });
        let conflict = change.0.iter().find(|(path, change)| {
            self.0.get(*path).is_some_and(|latest| {
                let is_elsewhere = latest.source.copy != source.copy;
                is_elsewhere && latest.entry != change.before && latest.entry != change.after
            })
        });
        let Some((path, _)) = conflict else {
            let latest =
                |change: &PathChange| LatestChange { entry: change.after.clone(), source: source.clone() };
            self.0.extend(change.0.iter().map(|(path, change)| (path.clone(), latest(change))));
            return Ok(change);
        };
        let path = path.clone();
        let undo = |(path, change): (String, PathChange)| {
            let current = self.0.get(&path).map_or(change.before, |latest| latest.entry.clone());
            (path, PathChange { before: change.after, after: current })
        };
        Err(TreeConflict { path, reversal: TreeChange(change.0.into_iter().map(undo).collect()) })
    }
}

/// Two pieces of work changed the same file at the same time, each to something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeConflict {
    /// The file.
    pub path: String,
    /// The change that makes good again what the later one did.
    pub reversal: TreeChange,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> TreeEntry {
        TreeEntry::File { digest: Sha256Digest::of_bytes(content.as_bytes()), mode: 0o644 }
    }

    fn change<'a>(
        path: &str,
        before: impl Into<Option<&'a str>>,
        after: impl Into<Option<&'a str>>,
    ) -> TreeChange {
        let (before, after) = (before.into().map(file), after.into().map(file));
        TreeChange(BTreeMap::from([(path.to_owned(), PathChange { before, after })]))
    }

    fn source(host: &str, sequence: u64) -> ChangeSource {
        ChangeSource { copy: host.to_owned(), sequence }
    }

    #[test]
    fn changes_in_turn_are_accepted() {
        let mut history = TreeHistory::default();
        for (before, after, host) in [("a", "b", "one"), ("b", "c", "two")] {
            let next = change("f", before, after);
            assert_eq!(history.accept(next.clone(), &source(host, 1)), Ok(next));
        }
        let gone = change("f", "c", None);
        assert_eq!(history.accept(gone.clone(), &source("one", 2)), Ok(gone));
    }

    #[test]
    fn the_same_change_of_two_hosts_is_one() {
        let mut history = TreeHistory::default();
        let made = change("f", None, "a");
        history.accept(made.clone(), &source("one", 1)).unwrap();
        assert_eq!(history.accept(made.clone(), &source("two", 1)), Ok(made));
    }

    #[test]
    fn of_two_hosts_at_the_same_time_the_later_one_is_reversed_whole() {
        let mut history = TreeHistory::default();
        history.accept(change("f", "a", "b"), &source("one", 1)).unwrap();
        let mut later = change("f", "a", "c");
        later.0.extend(change("g", None, "new").0);
        let conflict = history.accept(later, &source("two", 1)).unwrap_err();
        assert_eq!(conflict.path, "f");
        let mut expected = change("f", "c", "b");
        expected.0.extend(change("g", "new", None).0);
        assert_eq!(conflict.reversal, expected);
        // The run goes on from what was accepted.
        history.accept(change("g", None, "other"), &source("one", 2)).unwrap();
    }

    #[test]
    fn changes_of_one_host_count_in_the_order_in_which_it_found_them() {
        let mut history = TreeHistory::default();
        // A step ended while another one had written half of its file, and its report came later.
        history.accept(change("f", "half", "whole"), &source("one", 2)).unwrap();
        let late = history.accept(change("f", None, "half"), &source("one", 1));
        assert_eq!(late, Ok(TreeChange::default()));
        let next = change("f", "whole", "more");
        assert_eq!(history.accept(next.clone(), &source("two", 1)), Ok(next));
    }
}
