use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The files of a workspace at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceManifest {
    pub(super) top: ManifestFolder,
}

/// A folder and its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ManifestFolder {
    pub(super) stamp: ManifestStamp,
    /// The entries, sorted by the bytes of their names.
    pub(super) entries: Vec<(OsString, ManifestNode)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ManifestNode {
    Folder(ManifestFolder),
    /// Everything except folders: a file, a link, a pipe.
    File(ManifestStamp),
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ManifestStamp {
    /// The kind and the permissions.
    pub(super) mode: u32,
    pub(super) inode: u64,
    /// The size in bytes.
    pub(super) size: u64,
    /// The modification time in nanoseconds since 1970.
    pub(super) modified: i64,
    /// The change time in nanoseconds since 1970.
    pub(super) changed: i64,
}

impl WorkspaceManifest {
    /// Returns the number of files and folders.
    pub fn count(&self) -> u64 {
        self.top.count()
    }

    /// Returns the paths of everything except folders, in order.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.top.files(&mut PathBuf::new(), &mut found);
        found
    }

    /// Returns the paths of all files and folders with a name, in order.
    pub fn named(&self, name: &OsStr) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.top.named(name, &mut PathBuf::new(), &mut found);
        found
    }

    /// Returns the metadata of a path; `None` for a folder or a missing file.
    pub(super) fn stamp(&self, path: &Path) -> Option<ManifestStamp> {
        let mut node = None;
        let mut folder = Some(&self.top);
        for part in path {
            let entries = &folder?.entries;
            let at = entries.binary_search_by(|(name, _)| name.as_os_str().cmp(part));
            node = entries.get(at.ok()?).map(|(_, node)| node);
            folder = match node {
                Some(ManifestNode::Folder(folder)) => Some(folder),
                _ => None,
            };
        }
        match node {
            Some(ManifestNode::File(stamp)) => Some(*stamp),
            _ => None,
        }
    }

    /// Removes files, and the folders that contain no others.
    pub fn retain(&mut self, keep: &dyn Fn(&Path) -> bool) {
        self.top.retain(&mut PathBuf::new(), keep);
    }
}

impl ManifestFolder {
    fn files(&self, at: &mut PathBuf, found: &mut Vec<PathBuf>) {
        for (name, node) in &self.entries {
            at.push(name);
            match node {
                ManifestNode::Folder(folder) => folder.files(at, found),
                ManifestNode::File(_) => found.push(at.clone()),
            }
            at.pop();
        }
    }

    fn named(&self, wanted: &OsStr, at: &mut PathBuf, found: &mut Vec<PathBuf>) {
        for (name, node) in &self.entries {
            at.push(name);
            if name == wanted {
                found.push(at.clone());
            } else if let ManifestNode::Folder(folder) = node {
                folder.named(wanted, at, found);
            }
            at.pop();
        }
    }

    fn retain(&mut self, at: &mut PathBuf, keep: &dyn Fn(&Path) -> bool) {
        self.entries.retain_mut(|(name, node)| {
            at.push(&*name);
            let kept = match node {
                ManifestNode::Folder(folder) => {
                    let was_empty = folder.entries.is_empty();
                    folder.retain(at, keep);
                    was_empty || !folder.entries.is_empty()
                }
                ManifestNode::File(_) => keep(at),
            };
            at.pop();
            kept
        });
    }

    fn count(&self) -> u64 {
        let entries = self.entries.iter().map(|(_, node)| match node {
            ManifestNode::Folder(folder) => 1 + folder.count(),
            ManifestNode::File(_) => 1,
        });
        entries.sum()
    }
}
