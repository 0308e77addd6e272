//! The manifest of a workspace: its folders and files at one instant, with a stamp of each.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::disk::files::FileStamp;

/// The files of a workspace at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceManifest {
    pub(super) top_folder: ManifestFolder,
}

/// A folder and its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ManifestFolder {
    pub(super) stamp: FileStamp,
    /// The entries, sorted by the bytes of their names.
    pub(super) entries: Vec<(OsString, ManifestNode)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ManifestNode {
    Folder(ManifestFolder),
    /// Everything except folders: a file, a link, a pipe.
    File(FileStamp),
}

impl WorkspaceManifest {
    /// Returns the number of files and folders.
    pub fn count(&self) -> u64 {
        let mut count = 0;
        self.top_folder.visit(&mut PathBuf::new(), &mut |_, _| {
            count += 1;
            true
        });
        count
    }

    /// Returns the paths of everything except folders, in order.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        self.top_folder.visit(&mut PathBuf::new(), &mut |path, node| {
            if matches!(node, ManifestNode::File(_)) {
                paths.push(path.to_path_buf());
            }
            true
        });
        paths
    }

    /// Returns the paths of everything except folders, in order, but for what is left out: `is_left_out` has a path and
    /// whether it is a folder, which stands for all that is in it.
    pub(crate) fn files_but(&self, is_left_out: &dyn Fn(&Path, bool) -> bool) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        self.top_folder.visit(&mut PathBuf::new(), &mut |path, node| {
            let is_folder = matches!(node, ManifestNode::Folder(_));
            let is_listed = !is_left_out(path, is_folder);
            if is_listed && !is_folder {
                paths.push(path.to_path_buf());
            }
            is_listed
        });
        paths
    }

    /// Returns the paths of all files and folders with a name, in order; none inside another.
    pub fn named(&self, name: &OsStr) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        self.top_folder.visit(&mut PathBuf::new(), &mut |path, _| {
            let is_named = path.file_name() == Some(name);
            if is_named {
                paths.push(path.to_path_buf());
            }
            !is_named
        });
        paths
    }

    /// Returns the metadata of a path; `None` for a folder or a missing file.
    pub(crate) fn stamp(&self, path: &Path) -> Option<FileStamp> {
        match self.node(path) {
            Some(ManifestNode::File(stamp)) => Some(*stamp),
            _ => None,
        }
    }

    pub(crate) fn has_folder(&self, path: &Path) -> bool {
        matches!(self.node(path), Some(ManifestNode::Folder(_)))
    }

    fn node(&self, path: &Path) -> Option<&ManifestNode> {
        let mut node = None;
        let mut folder = Some(&self.top_folder);
        for part in path {
            let entries = &folder?.entries;
            let at = entries.binary_search_by(|(name, _)| name.as_os_str().cmp(part));
            node = entries.get(at.ok()?).map(|(_, node)| node);
            folder = match node {
                Some(ManifestNode::Folder(folder)) => Some(folder),
                _ => None,
            };
        }
        node
    }

    /// True if there is a file, or anything else but a folder, at a path.
    pub fn has_file(&self, path: &Path) -> bool {
        self.stamp(path).is_some()
    }

    /// Removes files, and the folders containing no others.
    pub fn retain(&mut self, keep: &dyn Fn(&Path) -> bool) {
        self.top_folder.retain(&mut PathBuf::new(), keep);
    }
}

impl ManifestFolder {
    /// Visits all entries in order; those of a folder only if its own visit returns true.
    fn visit(&self, at: &mut PathBuf, on_entry: &mut dyn FnMut(&Path, &ManifestNode) -> bool) {
        for (name, node) in &self.entries {
            at.push(name);
            if on_entry(at, node)
                && let ManifestNode::Folder(folder) = node
            {
                folder.visit(at, on_entry);
            }
            at.pop();
        }
    }

    fn retain(&mut self, at: &mut PathBuf, keep: &dyn Fn(&Path) -> bool) {
        self.entries.retain_mut(|(name, node)| {
            at.push(&*name);
            let is_kept = match node {
                ManifestNode::Folder(folder) => {
                    let was_empty = folder.entries.is_empty();
                    folder.retain(at, keep);
                    was_empty || !folder.entries.is_empty()
                }
                ManifestNode::File(_) => keep(at),
            };
            at.pop();
            is_kept
        });
    }
}
