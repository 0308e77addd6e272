//! What an approval binds of a workspace: its files, each with the digest of its content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::declared::Declared;
use crate::exec::Unable;
use crate::exec::beneath::Beneath;
use crate::exec::manifest::{Excluded, Manifest};
use crate::machine::Pin;

/// How the name of an approval ends: it says what was approved and is written afterwards.
const APPROVAL: &str = ".approval.json";

/// Who may approve: that is asked whenever an approval is used.
const APPROVERS: &str = "approvers.yaml";

/// The files of a workspace that an approval binds, in order: all but what is declared (`products`, as
/// globs), the repository, and the approvals themselves. Of a link the content is the path that it holds.
/// `tracked` are the files that git knows; `None`: there is no repository, and all files count. What lies in
/// `apart`, the state and the keys, is no part of the workspace.
pub fn tree(
    (root, apart): (&Path, &[PathBuf]),
    products: &[String],
    tracked: Option<&BTreeSet<PathBuf>>,
) -> Result<Vec<Pin>, Unable> {
    let declared = Declared::default().and(products);
    let manifest = Manifest::of(root, &Excluded::new(apart.iter().map(PathBuf::as_path)))?;
    let known = |path: &PathBuf| tracked.is_none_or(|tracked| tracked.contains(path));
    let files = manifest.files().into_iter();
    let files = files.filter(|path| is_bound(path, &declared) && known(path));
    let reader = Reader::new(root, &manifest)?;
    files.map(|path| reader.pin(&path)).collect()
}

/// The manifest with nothing in it that was not approved. Fails where a file is not what was approved.
pub(super) fn bound(
    root: &Path,
    manifest: &Manifest,
    declared: &Declared,
    files: &[Pin],
) -> Result<Manifest, Unable> {
    let changed = |path: &str| {
        let why = format!("changed since it was approved: {path}");
        Err(Unable::logical(why))
    };
    let reader = Reader::new(root, manifest)?;
    let mut approved: BTreeMap<&Path, &Pin> = BTreeMap::new();
    approved.extend(files.iter().map(|pin| (Path::new(&pin.path), pin)));
    let mut kept = manifest.clone();
    kept.retain(&|path| !is_bound(path, declared) || approved.contains_key(path));
    for path in kept.files() {
        if let Some(pin) = approved.remove(&*path)
            && is_bound(&path, declared)
            && reader.pin(&path)? != *pin
        {
            return changed(&pin.path);
        }
    }
    let gone = approved
        .into_values()
        .find(|pin| is_bound(Path::new(&pin.path), declared));
    gone.map_or(Ok(kept), |pin| changed(&pin.path))
}

/// Whether an approval binds a file.
pub(super) fn is_bound(path: &Path, declared: &Declared) -> bool {
    let name = path.to_str().unwrap_or_default();
    let is_approval = name.ends_with(APPROVAL) || name == APPROVERS;
    let is_of_git = path.iter().any(|part| part == ".git");
    !is_approval && !is_of_git && !declared.has(path)
}

/// Reads the files of a manifest.
struct Reader<'a> {
    root: Beneath,
    manifest: &'a Manifest,
}

impl<'a> Reader<'a> {
    fn new(root: &Path, manifest: &'a Manifest) -> Result<Self, Unable> {
        let opened = Beneath::open(root).map_err(|missed| missed.unable(root))?;
        Ok(Self {
            root: opened,
            manifest,
        })
    }

    fn pin(&self, path: &Path) -> Result<Pin, Unable> {
        let name = path.to_str().ok_or_else(|| {
            let why = format!(
                "cannot approve {}: its name is not UTF-8; rename it",
                path.display()
            );
            Unable::logical(why)
        })?;
        let content = self.manifest.content(&self.root, path)?;
        Ok(Pin {
            path: name.to_owned(),
            link: content.link,
            digest: content.digest,
        })
    }
}
