use wf_base::name::RunId;
use wf_store::StoreError;

use crate::session::EngineSession;

/// The key for the worktree that a run has for itself, in its recorded configuration.
pub const WORKTREE: &str = "worktree";

/// The key for its folder.
pub const WORKTREE_FOLDER: &str = "folder";

/// True if a run worked in a worktree where a session does not work. The files here have other inodes and times than those there.
pub(crate) fn is_elsewhere(session: &EngineSession, run: &RunId) -> Result<bool, StoreError> {
    let config = session.store.log_reader()?.config(run)?;
    let folder = config.get(WORKTREE).and_then(|worktree| worktree.get(WORKTREE_FOLDER)?.as_str());
    Ok(folder.is_some_and(|folder| !session.root.starts_with(folder)))
}
