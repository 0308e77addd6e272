//! The leftovers of an earlier run, which nobody has changed since: for a run repeating it they are no part of the
//! beginning.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{ManifestFolder, ManifestNode, WorkspaceManifest};

/// The rule for leftovers of an earlier run.
pub struct LeftoverRule<'a> {
    /// The end of that run, in nanoseconds since 1970.
    pub ended: i64,
    /// True for files steps may have made.
    pub is_product: &'a dyn Fn(&Path) -> bool,
}

impl LeftoverRule<'_> {
    /// Replaces the leftovers of an earlier run in a manifest by the files before it. Returns the paths.
    pub fn undo(&self, manifest: &mut WorkspaceManifest, before: &WorkspaceManifest) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        undo(&mut manifest.top_folder, Some(&before.top_folder), &mut PathBuf::new(), self, &mut paths);
        paths
    }
}

fn undo(
    folder_now: &mut ManifestFolder,
    before: Option<&ManifestFolder>,
    at: &mut PathBuf,
    rule: &LeftoverRule<'_>,
    found: &mut BTreeSet<PathBuf>,
) {
    let removed = removed(folder_now, before, at, rule);
    folder_now.entries.retain_mut(|(name, node)| {
        at.push(&*name);
        let old = before.and_then(|before| before.entries.iter().find(|(other_name, _)| other_name == name));
        let is_kept = match (node, old.map(|(_, node)| node)) {
            (ManifestNode::Folder(folder), old) => {
                let old = match old {
                    Some(ManifestNode::Folder(old)) => Some(old),
                    _ => None,
                };
                let was_empty = folder.entries.is_empty();
                undo(folder, old, at, rule, found);
                old.is_some() || was_empty || !folder.entries.is_empty()
            }
            (ManifestNode::File(stamp), Some(ManifestNode::File(old))) if stamp == old => true,
            (ManifestNode::File(stamp), _) if stamp.changed > rule.ended || (rule.is_product)(at) => true,
            (ManifestNode::File(stamp), old) => {
                found.insert(at.clone());
                if let Some(ManifestNode::File(old)) = old {
                    *stamp = *old;
                }
                old.is_some()
            }
        };
        at.pop();
        is_kept
    });
    for (name, node) in removed {
        found.insert(at.join(&name));
        folder_now.entries.push((name, node));
    }
    folder_now.entries.sort_by(|entry, other| entry.0.cmp(&other.0));
}

/// Returns the entries the earlier run removed from a folder: nothing in it has changed since.
fn removed(
    folder: &ManifestFolder,
    before: Option<&ManifestFolder>,
    at: &Path,
    rule: &LeftoverRule<'_>,
) -> Vec<(std::ffi::OsString, ManifestNode)> {
    let Some(before) = before.filter(|_| folder.stamp.changed <= rule.ended) else { return Vec::new() };
    let is_gone = |name: &std::ffi::OsString| folder.entries.iter().all(|(other_name, _)| other_name != name);
    let gone = before.entries.iter().filter(|(name, _)| is_gone(name) && !(rule.is_product)(&at.join(name)));
    gone.cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, time::Duration};

    use super::{
        super::{ExcludedFiles, WorkspaceManifest},
        LeftoverRule,
    };

    fn manifest(root: &Path) -> WorkspaceManifest {
        WorkspaceManifest::of_workspace(root, &ExcludedFiles::default()).unwrap()
    }

    #[test]
    fn what_a_run_left_is_undone_and_what_came_later_or_is_a_product_stays() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| fs::write(dir.path().join(path), text).unwrap();
        for folder in ["tests", "out"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        for path in ["a", "later", "same", "product", "tests/gone"] {
            put(path, "as it was");
        }
        let before = manifest(dir.path());
        for path in ["a", "new", "product", "later", "out/new"] {
            put(path, "by the run");
        }
        fs::remove_file(dir.path().join("tests/gone")).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        put("edge", "the end of the run");
        let ended = manifest(dir.path()).stamp(Path::new("edge")).unwrap().changed - 1;
        std::thread::sleep(Duration::from_millis(30));
        put("later", "by a person");
        let mut now = manifest(dir.path());
        let is_product = |path: &Path| path == Path::new("product");
        let left = LeftoverRule { ended, is_product: &is_product }.undo(&mut now, &before);
        let left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(left, ["a", "new", "out/new", "tests/gone"]);
        let [a, gone] = ["a", "tests/gone"].map(|path| now.stamp(Path::new(path)));
        assert_eq!([a, gone], ["a", "tests/gone"].map(|path| before.stamp(Path::new(path))));
        assert!(!now.has_file(Path::new("new")) && !now.has_file(Path::new("out/new")));
        assert!(["later", "product", "edge", "same"].iter().all(|path| now.has_file(Path::new(path))));
    }
}
