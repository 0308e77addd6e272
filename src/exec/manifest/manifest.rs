use std::ffi::OsString;

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
}

impl Folder {
    fn count(&self) -> u64 {
        let entries = self.entries.iter().map(|(_, node)| match node {
            Node::Folder(folder) => 1 + folder.count(),
            Node::File(_) => 1,
        });
        entries.sum()
    }
}
