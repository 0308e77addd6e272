use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The files of a workspace at an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub(super) top: Folder,
}

/// A folder and what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) stamp: Stamp,
    /// By name, in the order of the names' bytes.
    pub(super) entries: Vec<(OsString, Node)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Folder(Folder),
    /// Whatever is no folder: a file, a link, a pipe.
    File(Stamp),
}

/// What the system says of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Kind and permissions.
    pub(super) mode: u32,
    pub(super) inode: u64,
    /// In bytes.
    pub(super) size: u64,
    /// In nanoseconds since 1970.
    pub(super) modified: i64,
    /// In nanoseconds since 1970.
    pub(super) changed: i64,
}

impl Manifest {
    /// The number of files and folders.
    pub fn count(&self) -> u64 {
        self.top.count()
    }

    /// The paths of whatever is no folder, in order.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.top.files(&mut PathBuf::new(), &mut found);
        found
    }

    /// The paths of all files and folders with a name, in order.
    pub fn named(&self, name: &OsStr) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.top.named(name, &mut PathBuf::new(), &mut found);
        found
    }

    /// What the system says of a path that is no folder; `None`: it is one, or is not there.
    pub(super) fn stamp(&self, path: &Path) -> Option<Stamp> {
        let mut node = None;
        let mut folder = Some(&self.top);
        for part in path {
            let entries = &folder?.entries;
            let at = entries.binary_search_by(|(name, _)| name.as_os_str().cmp(part));
            node = entries.get(at.ok()?).map(|(_, node)| node);
            folder = match node {
                Some(Node::Folder(folder)) => Some(folder),
                _ => None,
            };
        }
        match node {
            Some(Node::File(stamp)) => Some(*stamp),
            _ => None,
        }
    }

    /// Leaves out files, and the folders in which nothing else was.
    pub fn retain(&mut self, keep: &dyn Fn(&Path) -> bool) {
        self.top.retain(&mut PathBuf::new(), keep);
    }
}

impl Folder {
    fn files(&self, at: &mut PathBuf, found: &mut Vec<PathBuf>) {
        for (name, node) in &self.entries {
            at.push(name);
            match node {
                Node::Folder(folder) => folder.files(at, found),
                Node::File(_) => found.push(at.clone()),
            }
            at.pop();
        }
    }

    fn named(&self, wanted: &OsStr, at: &mut PathBuf, found: &mut Vec<PathBuf>) {
        for (name, node) in &self.entries {
            at.push(name);
            if name == wanted {
                found.push(at.clone());
            } else if let Node::Folder(folder) = node {
                folder.named(wanted, at, found);
            }
            at.pop();
        }
    }

    fn retain(&mut self, at: &mut PathBuf, keep: &dyn Fn(&Path) -> bool) {
        self.entries.retain_mut(|(name, node)| {
            at.push(&*name);
            let kept = match node {
                Node::Folder(folder) => {
                    let was_empty = folder.entries.is_empty();
                    folder.retain(at, keep);
                    was_empty || !folder.entries.is_empty()
                }
                Node::File(_) => keep(at),
            };
            at.pop();
            kept
        });
    }

    fn count(&self) -> u64 {
        let entries = self.entries.iter().map(|(_, node)| match node {
            Node::Folder(folder) => 1 + folder.count(),
            Node::File(_) => 1,
        });
        entries.sum()
    }
}
