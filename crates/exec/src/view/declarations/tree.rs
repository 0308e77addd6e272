//! The files of a workspace an approval covers, each with the digest of its content.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use wf_core::machine::PinnedFile;

use super::{data::DataFiles, declared::DeclaredProducts};
use crate::{
    disk::confined_dir::ConfinedDir,
    manifest::{ExcludedFiles, FileContent, WorkspaceManifest},
    work_error::WorkError,
};

/// The suffix of an approval's file name, which is written after the files it covers.
const APPROVAL_SUFFIX: &str = ".approval.json";

/// The list of approvers, which is read whenever an approval is used.
const APPROVERS_FILE: &str = "approvers.yaml";

/// Returns the files of a workspace an approval covers, in order: all except declared ones (`products`, as globs),
/// data, the repository, and the approvals themselves. The content of a link is its target path. `tracked` are the
/// files in git; `None`: there is no repository, and all files count. The folders in `apart`, the state and the keys,
/// are not part of the workspace.
pub fn tree(
    root: &Path,
    apart: &[PathBuf],
    products: &[String],
    data: &DataFiles,
    tracked: Option<&BTreeSet<PathBuf>>,
) -> Result<Vec<PinnedFile>, WorkError> {
    let declared = DeclaredProducts::default().and(products);
    let manifest =
        WorkspaceManifest::of_workspace(root, &ExcludedFiles::new(apart.iter().map(PathBuf::as_path)))?;
    let is_tracked = |path: &PathBuf| tracked.is_none_or(|tracked| tracked.contains(path));
    let files = manifest.files().into_iter();
    let files = files.filter(|path| is_bound(path, &declared) && !data.has(path) && is_tracked(path));
    let reader = ManifestReader::new(root, &manifest)?;
    files.map(|path| reader.pin(&path)).collect()
}

/// Returns the manifest without unapproved files. Fails if a file differs from the approved one.
pub(crate) fn bound(
    root: &Path,
    manifest: &WorkspaceManifest,
    declared: &DeclaredProducts,
    files: &[PinnedFile],
) -> Result<WorkspaceManifest, WorkError> {
    let changed = |path: &str| {
        let reason = format!("changed since it was approved: {path}");
        Err(WorkError::logical(reason))
    };
    let reader = ManifestReader::new(root, manifest)?;
    let mut approved: BTreeMap<&Path, &PinnedFile> = BTreeMap::new();
    approved.extend(files.iter().map(|pin| (Path::new(&pin.path), pin)));
    let mut bound_manifest = manifest.clone();
    bound_manifest.retain(&|path| !is_bound(path, declared) || approved.contains_key(path));
    for path in bound_manifest.files() {
        if let Some(pin) = approved.remove(&*path)
            && is_bound(&path, declared)
            && let current = reader.pin(&path)?
            && current != *pin
        {
            return changed(&pin.difference(&current));
        }
    }
    let gone = approved.into_values().find(|pin| is_bound(Path::new(&pin.path), declared));
    gone.map_or(Ok(bound_manifest), |pin| changed(&pin.path))
}

/// True if an approval covers a file.
pub(crate) fn is_bound(path: &Path, declared: &DeclaredProducts) -> bool {
    let name = path.to_str().unwrap_or_default();
    let is_approval = name.ends_with(APPROVAL_SUFFIX) || name == APPROVERS_FILE;
    let is_of_git = path.iter().any(|part| part == ".git");
    !is_approval && !is_of_git && !declared.has(path) && !declared.is_data(path)
}

/// Reads the files of a manifest.
struct ManifestReader<'a> {
    root: ConfinedDir,
    manifest: &'a WorkspaceManifest,
}

impl<'a> ManifestReader<'a> {
    fn new(root: &Path, manifest: &'a WorkspaceManifest) -> Result<Self, WorkError> {
        let opened = ConfinedDir::open(root).map_err(|missed| missed.unable(root))?;
        Ok(Self { root: opened, manifest })
    }

    fn pin(&self, path: &Path) -> Result<PinnedFile, WorkError> {
        let name = path.to_str().ok_or_else(|| {
            let reason = format!("cannot approve {}: its name is not valid UTF-8; rename it", path.display());
            WorkError::logical(reason)
        })?;
        let FileContent { link, executable, digest } =
            FileContent::of_listed(self.manifest, &self.root, path)?;
        Ok(PinnedFile { path: name.to_owned(), link, executable, digest })
    }
}
