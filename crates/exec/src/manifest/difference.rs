//! The difference between two manifests, and the files moved between them.

use std::{
    cmp::Ordering,
    ffi::OsString,
    iter::Peekable,
    path::{Path, PathBuf},
    slice::Iter,
};

use super::{ManifestFolder, ManifestNode, WorkspaceManifest};
use crate::disk::files::FileStamp;

/// The difference between two manifests of a workspace, except for declared files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestDifference {
    /// The files changed or removed.
    pub changed: Vec<PathBuf>,
    /// The new files: a folder stands for all its content if none of it was declared.
    pub new: Vec<PathBuf>,
    /// The changed caches, nobody's products, with nothing but copies in them.
    pub caches: Vec<PathBuf>,
    /// The files differing as they may: changed, removed or new ones.
    pub permitted: Vec<PathBuf>,
}

impl ManifestDifference {
    /// Compares two manifests, except for files that may differ by the rules; each path in a folder
    /// is tested separately.
    pub fn between(
        before: &WorkspaceManifest,
        after: &WorkspaceManifest,
        rules: &dyn DifferenceRules,
    ) -> Self {
        let mut comparison = ManifestComparison { rules, at: PathBuf::new(), difference: Self::default() };
        comparison.folders(&before.top_folder, &after.top_folder);
        comparison.difference
    }

    /// Returns a folder moved between two manifests, even if it is back: its change time then differs while its
    /// modification time does not (as after any change to the folder itself).
    pub fn moved(before: &WorkspaceManifest, after: &WorkspaceManifest) -> Option<PathBuf> {
        moved(&before.top_folder, &after.top_folder, &mut PathBuf::new())
    }
}

/// The rules for permitted differences between two manifests.
pub trait DifferenceRules {
    /// True if a file may be changed or removed.
    fn may_change(&self, path: &Path) -> bool;

    /// True for a file that may be hidden where it was changed, since nothing depends on its content.
    fn is_cache(&self, _path: &Path) -> bool {
        false
    }

    /// True if a file, and with it its content, is named.
    fn is_named(&self, path: &Path) -> bool;

    /// True if a file may be new. `named` is true if it, or a new folder around it, is named.
    fn may_appear(&self, path: &Path, named: bool) -> bool;
}

struct ManifestComparison<'a> {
    rules: &'a dyn DifferenceRules,
    at: PathBuf,
    difference: ManifestDifference,
}

/// True if a part of a new file may be seen.
type PartVisible = bool;

impl ManifestComparison<'_> {
    fn folders(&mut self, before: &ManifestFolder, after: &ManifestFolder) {
        for (name, pair) in EntryPairs::new(before, after) {
            self.at.push(name);
            self.pair(&pair);
            self.at.pop();
        }
    }

    fn pair(&mut self, pair: &EntryPair<'_>) {
        match *pair {
            EntryPair::Both(ManifestNode::Folder(before), ManifestNode::Folder(after)) => {
                if before.stamp.mode != after.stamp.mode && !self.rules.is_cache(&self.at) {
                    self.change();
                }
                self.folders(before, after);
            }
            EntryPair::Both(ManifestNode::File(before), ManifestNode::File(after)) => {
                if before != after {
                    self.change();
                }
            }
            EntryPair::Both(before, _) => {
                self.change();
                self.remove_node(before);
            }
            EntryPair::Before(before) => self.remove_node(before),
            EntryPair::After(after) => {
                self.appear(after, false);
            }
        }
    }

    fn change(&mut self) {
        let path = self.at.clone();
        if self.rules.may_change(&path) {
            self.difference.permitted.push(path);
        } else if self.rules.is_cache(&path) {
            self.difference.caches.push(path);
        } else {
            self.difference.changed.push(path);
        }
    }

    /// Tests each file of a removed folder separately: the folder may be declared only as the
    /// parent of something else.
    fn remove_node(&mut self, node: &ManifestNode) {
        match node {
            ManifestNode::Folder(folder) if !folder.entries.is_empty() => {
                for (name, node) in &folder.entries {
                    self.at.push(name);
                    self.remove_node(node);
                    self.at.pop();
                }
            }
            // There is nothing to hide.
            _ if !self.rules.may_change(&self.at) && self.rules.is_cache(&self.at) => {}
            ManifestNode::Folder(_) | ManifestNode::File(_) => self.change(),
        }
    }

    /// Tests each part of a new folder separately.
    fn appear(&mut self, node: &ManifestNode, named: bool) -> PartVisible {
        let (first, permitted) = (self.difference.new.len(), self.difference.permitted.len());
        let named = named || self.rules.is_named(&self.at);
        let mut visible = self.rules.may_appear(&self.at, named);
        if let ManifestNode::Folder(folder) = node {
            for (name, node) in &folder.entries {
                self.at.push(name);
                visible |= self.appear(node, named);
                self.at.pop();
            }
        }
        if !visible {
            self.difference.new.truncate(first);
            self.difference.permitted.truncate(permitted);
            self.difference.new.push(self.at.clone());
        } else if matches!(node, ManifestNode::File(_)) {
            self.difference.permitted.push(self.at.clone());
        }
        visible
    }
}

fn moved(before: &ManifestFolder, after: &ManifestFolder, at: &mut PathBuf) -> Option<PathBuf> {
    for (name, pair) in EntryPairs::new(before, after) {
        let EntryPair::Both(ManifestNode::Folder(before), ManifestNode::Folder(after)) = pair else {
            continue;
        };
        at.push(name);
        if is_moved(before.stamp, after.stamp) {
            return Some(at.clone());
        }
        if let Some(path) = moved(before, after, at) {
            return Some(path);
        }
        at.pop();
    }
    None
}

fn is_moved(before: FileStamp, after: FileStamp) -> bool {
    let is_touched = before.changed != after.changed && before.modified == after.modified;
    before.inode != after.inode || is_touched
}

/// The entries of two folders, paired by name.
struct EntryPairs<'a> {
    before: Peekable<Iter<'a, (OsString, ManifestNode)>>,
    after: Peekable<Iter<'a, (OsString, ManifestNode)>>,
}

enum EntryPair<'a> {
    Before(&'a ManifestNode),
    After(&'a ManifestNode),
    Both(&'a ManifestNode, &'a ManifestNode),
}

impl<'a> EntryPairs<'a> {
    fn new(before: &'a ManifestFolder, after: &'a ManifestFolder) -> Self {
        Self { before: before.entries.iter().peekable(), after: after.entries.iter().peekable() }
    }
}

impl<'a> Iterator for EntryPairs<'a> {
    type Item = (&'a OsString, EntryPair<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.before.peek(), self.after.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((before, _)), Some((after, _))) => before.cmp(after),
        };
        if order == Ordering::Less {
            let (name, node) = self.before.next()?;
            return Some((name, EntryPair::Before(node)));
        }
        let (name, after) = self.after.next()?;
        if order == Ordering::Greater {
            return Some((name, EntryPair::After(after)));
        }
        let (_, before) = self.before.next()?;
        Some((name, EntryPair::Both(before, after)))
    }
}

#[cfg(test)]
mod tests;
