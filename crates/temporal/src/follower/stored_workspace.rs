//! A workspace as it is stored for what starts there: its files, and the part of its state going along.

use std::path::{Path, PathBuf};

use wf_app::{Host, Workspace};
use wf_base::digest::Sha256Digest;
use wf_engine::CarriedState;

use crate::{
    files::{objects::Objects, results::StoredResults, tree_files::store_tree},
    follower::{follow::FollowError, local_copy},
};

/// A workspace with stored files.
pub(crate) struct StoredWorkspace {
    /// The object with the [`Tree`](crate::files::tree::Tree) of its files.
    pub(crate) tree: Sha256Digest,
    /// The path of its state, relative to it if it is in there.
    pub(crate) state_folder: PathBuf,
    /// True if it is the top folder of a git repository.
    pub(crate) is_repository: bool,
}

impl StoredWorkspace {
    /// Stores the files of a workspace: those of its repository, and some that git may ignore.
    pub(crate) async fn new(
        workspace: &Workspace,
        ignored: impl IntoIterator<Item = PathBuf>,
        host: &Host,
        objects: &Objects,
    ) -> Result<Self, FollowError> {
        let Workspace { root, state } = workspace;
        let files = wf_app::workspace_files(workspace, &host.vars())
            .map_err(|error| FollowError::Files(error.message))?;
        let files = files.map(|files| files.into_iter().chain(ignored).collect());
        Ok(Self {
            tree: store_tree(root, files, std::slice::from_ref(state), objects).await?,
            state_folder: state.strip_prefix(root).unwrap_or(state).to_owned(),
            is_repository: root.join(".git").symlink_metadata().is_ok(),
        })
    }
}

/// Stores the part of a state going along, and the cached results the object store lacks.
pub(crate) async fn store_state(
    carried: &CarriedState,
    state: &Path,
    objects: &Objects,
) -> Result<Option<Sha256Digest>, FollowError> {
    let (shared, blobs) = (StoredResults(objects.clone()), local_copy::blobs(state));
    for entry in &carried.results {
        // One whose files were removed cannot be used here either.
        let is_whole = entry.files.iter().all(|file| blobs.path(&file.digest).exists());
        if is_whole && !shared.has(&entry.key).await? {
            shared.put_entry(entry, &blobs).await?;
        }
    }
    let carried = CarriedState { results: Vec::new(), ..carried.clone() };
    if carried == CarriedState::default() {
        return Ok(None);
    }
    Ok(Some(objects.put_json(&carried).await?))
}
