//! The files below granted folders that git ignores: they are no products of a step that may write them.
//!
//! The rules are those of the files `.gitignore` as they were when the run began: an edit by a step changes nothing in
//! the view of its checks. What a folder's own `.git/info/exclude`, or the user's settings, ignore does not count.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::{disk::files::open_regular, manifest::WorkspaceManifest};

/// The name of the files with patterns.
const IGNORE_FILE: &str = ".gitignore";

/// The most bytes read of one.
const MAX_IGNORE_BYTES: u64 = 1 << 20;

/// A file of patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct IgnoreFile {
    /// The path of the workspace, relative to the folder of a file above it.
    #[serde(default, skip_serializing_if = "str_is_empty")]
    workspace: PathBuf,
    /// The folder of a file in the workspace, relative to that.
    folder: PathBuf,
    text: String,
}

fn str_is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// The files that git ignored in a workspace when a run began.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoreRules {
    files: Vec<IgnoreFile>,
    /// The patterns of each, the innermost last.
    patterns: Vec<Gitignore>,
}

impl IgnoreRules {
    pub(crate) fn read_rules(root: &Path, manifest: &WorkspaceManifest, folders: &[PathBuf]) -> Self {
        let mut rules = Self::of(above(root));
        let mut within = manifest.named(std::ffi::OsStr::new(IGNORE_FILE));
        within.sort_by_key(|path| path.components().count());
        for path in within {
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            let is_near = |granted: &PathBuf| folder.starts_with(granted) || granted.starts_with(&folder);
            if folders.iter().any(is_near)
                && !rules.has(&path, false)
                && let Some(text) = read(&root.join(&path))
            {
                rules.add(IgnoreFile { workspace: PathBuf::new(), folder, text });
            }
        }
        rules
    }

    fn of(files: Vec<IgnoreFile>) -> Self {
        let mut rules = Self::default();
        for file in files {
            rules.add(file);
        }
        rules
    }

    fn add(&mut self, file: IgnoreFile) {
        let mut builder = GitignoreBuilder::new("");
        for line in file.text.lines() {
            // As git does: a line that is no pattern matches nothing.
            drop(builder.add_line(None, line));
        }
        self.patterns.push(builder.build().unwrap_or_else(|_| Gitignore::empty()));
        self.files.push(file);
    }

    /// Returns the rules as they are recorded; empty: there are none.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        if self.files.is_empty() { Vec::new() } else { serde_json::to_vec(&self.files).unwrap_or_default() }
    }

    /// Restores recorded rules.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        serde_json::from_slice(bytes).ok().map(Self::of)
    }

    /// True if git ignores a path, or a folder above it.
    pub(super) fn has(&self, path: &Path, is_folder: bool) -> bool {
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|path| !str_is_empty(path)).collect();
        above.reverse();
        above.into_iter().any(|folder| self.matches(folder, true)) || self.matches(path, is_folder)
    }

    /// Returns the decision of the innermost file that has one; a folder above the path does not count.
    pub(crate) fn matches(&self, path: &Path, is_folder: bool) -> bool {
        let decisions = self.files.iter().zip(self.patterns.iter()).rev().filter_map(|(file, patterns)| {
            let relative = file.workspace.join(path);
            match patterns.matched(relative.strip_prefix(&file.folder).ok()?, is_folder) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            }
        });
        decisions.into_iter().next().unwrap_or(false)
    }
}

/// Reads the files above a workspace, up to the top of its repository, the outermost first.
fn above(root: &Path) -> Vec<IgnoreFile> {
    let mut paths = Vec::new();
    if root.join(".git").exists() {
        return paths;
    }
    for folder in root.ancestors().skip(1) {
        if let (Ok(workspace), Some(text)) = (root.strip_prefix(folder), read(&folder.join(IGNORE_FILE))) {
            paths.push(IgnoreFile { workspace: workspace.to_path_buf(), folder: PathBuf::new(), text });
        }
        if folder.join(".git").exists() {
            paths.reverse();
            return paths;
        }
    }
    // It is in no repository.
    Vec::new()
}

fn read(path: &Path) -> Option<String> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    open_regular(path, OFlags::RDONLY).ok()?.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::IgnoreRules;
    use crate::manifest::{ExcludedFiles, WorkspaceManifest};

    fn rules(root: &Path) -> IgnoreRules {
        let manifest = WorkspaceManifest::of_workspace(root, &ExcludedFiles::default()).unwrap();
        IgnoreRules::read_rules(root, &manifest, &["src".into()])
    }

    #[test]
    fn the_innermost_file_decides_and_a_folder_stands_for_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("repository/workspace");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(dir.path().join("repository/.git")).unwrap();
        fs::create_dir_all(root.join("other")).unwrap();
        for (path, text) in [
            ("../.gitignore", "/workspace/src/top\n*.bak\n"),
            (".gitignore", "*.log\nbuild/\n/src/only\n"),
            ("src/.gitignore", "!keep.log\nlocal\n"),
            ("other/.gitignore", "*\n"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let rules = rules(&root);
        for (path, expected) in [
            ("src/a.log", true),
            ("src/keep.log", false),
            ("keep.log", true),
            ("src/build/x", true),
            ("src/build/deep/keep.log", true),
            ("src/only", true),
            ("src/deep/only", false),
            ("src/local/x", true),
            ("local/x", false),
            ("src/top/x", true),
            ("src/a.bak", true),
            ("src/a.py", false),
        ] {
            assert_eq!(rules.has(Path::new(path), false), expected, "{path}");
        }
        assert!(rules.has(Path::new("build"), true) && !rules.has(Path::new("build"), false));
        // What is recorded decides alike, whatever became of the files.
        let recorded = rules.to_bytes();
        fs::write(root.join("src/.gitignore"), "*\n").unwrap();
        let restored = IgnoreRules::from_bytes(&recorded).unwrap();
        assert!(!restored.has(Path::new("src/a.py"), false) && restored.has(Path::new("src/local/x"), false));
        assert!(self::rules(&root).has(Path::new("src/a.py"), false));
        assert!(IgnoreRules::from_bytes(b"nonsense").is_none());
    }
}
