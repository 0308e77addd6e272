//! The files of a workspace, carried between hosts: a tree of digests when the run starts, and one change for each piece of
//! work that made a difference.
//!
//! Folders are as good as their files: an empty one is not carried. Repositories (`.git`) and the state are not carried.

use std::{
    collections::BTreeMap,
    io,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;

use crate::files::objects::ObjectError;

/// The files of a workspace: path, relative to the root, and content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree(pub BTreeMap<String, TreeEntry>);

/// A file in a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeEntry {
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
    /// The object with the [`Tree`] the run started with.
    pub base: Sha256Digest,
    /// The object with the last [`TreeNode`], if anything has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Sha256Digest>,
}

/// A change, and the one before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TreeNode {
    /// The object with the node before; `None`: the tree the run started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha256Digest>,
    /// The copy of the workspace where the change was found, which has it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
    pub change: TreeChange,
}

/// The differences that some work made, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeChange(pub BTreeMap<String, PathChange>);

/// The difference in one path; `None`: there is no file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// The entry before the work.
    pub before: Option<TreeEntry>,
    /// The entry after the work.
    pub after: Option<TreeEntry>,
}

impl TreeChange {
    /// True if there is no difference.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the place of a path below a folder. A path leading out of the folder is refused: another host chose it,
/// and must not reach other files of this one.
pub(crate) fn place_inside(folder: &Path, path: &str) -> Result<PathBuf, ObjectError> {
    let mut parts = Path::new(path).components();
    if path.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
        let cause = io::Error::new(io::ErrorKind::InvalidData, "the path leads out of its folder");
        return Err(ObjectError::File { path: path.to_owned(), cause });
    }
    Ok(folder.join(path))
}

#[cfg(test)]
mod tests {
    use super::place_inside;
    use std::path::Path;

    #[test]
    fn a_path_stays_in_its_folder() {
        let place = |path| place_inside(Path::new("/w"), path);
        assert_eq!(place("a/b").unwrap(), Path::new("/w/a/b"));
        for out in ["", "..", "../a", "a/../../b", "/etc/passwd", "./a"] {
            assert!(place(out).is_err(), "{out}");
        }
    }
}
