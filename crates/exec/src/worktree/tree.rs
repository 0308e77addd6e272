//! The worktree of an attempt, made from a commit.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    git::{GitPlace, WorktreeGit},
    tracked,
};
use crate::work_error::WorkError;

/// The worktree of an attempt. Its folder is there once it is complete.
#[derive(Clone, Debug)]
pub struct AttemptWorktree {
    /// The folder of all worktrees of the run.
    pub home: PathBuf,
    /// The name of its folder.
    pub name: String,
    /// The prefix of the references of its commits: `refs/wf/STEP/ATTEMPT`.
    pub reference: String,
}

impl AttemptWorktree {
    pub fn folder(&self) -> PathBuf {
        self.home.join(&self.name)
    }

    /// Removes it. Its content is in its result.
    pub fn remove(&self) {
        drop(fs::remove_dir_all(self.folder()));
        drop(fs::remove_file(self.index()));
    }

    pub(super) fn commit_name(&self, of: &str) -> String {
        format!("{}/{of}", self.reference)
    }

    fn index(&self) -> PathBuf {
        self.home.join(format!("{}.index", self.name))
    }

    /// Makes it of the workspace as it is now, or goes on with what it had when it was last kept, or with what the attempt
    /// before left. One that is there stays.
    pub async fn begin(&self, git: &WorktreeGit, before: Option<&Self>) -> Result<(), WorkError> {
        let folder = self.folder();
        if folder.exists() {
            return Ok(());
        }
        fs::create_dir_all(&self.home).map_err(|error| unable("create", &self.home, &error))?;
        if let Some(own) = git.find_commit(&self.commit_name("result")).await? {
            return self.check_out(git, &own).await;
        }
        if let Some(before) = before.filter(|before| before.folder().exists()) {
            let base = git.commit_of(&before.commit_name("base")).await?;
            git.line(&["update-ref", &self.commit_name("base"), &base]).await?;
            // Without it, git reads all files.
            drop(fs::rename(before.index(), self.index()));
            return fs::rename(before.folder(), &folder).map_err(|error| unable("rename", &folder, &error));
        }
        if let Some(before) = before
            && let Some((base, left)) = before.kept(git).await?
        {
            git.line(&["update-ref", &self.commit_name("base"), &base]).await?;
            return self.check_out(git, &left).await;
        }
        let tree = snapshot_workspace(git, &self.home).await?;
        git.keep(&tree, None, &self.commit_name("base")).await?;
        self.check_out(git, &tree).await
    }

    /// Returns its beginning and its end, if it was kept and no merge was computed from it, after which it is over.
    async fn kept(&self, git: &WorktreeGit) -> Result<Option<(String, String)>, WorkError> {
        let [base, left, merged] = ["base", "result", "before"].map(|name| self.commit_name(name));
        if git.find_commit(&merged).await?.is_some() {
            return Ok(None);
        }
        Ok(git.find_commit(&base).await?.zip(git.find_commit(&left).await?))
    }

    /// Makes its folder, with the files of a version.
    async fn check_out(&self, git: &WorktreeGit, version: &str) -> Result<(), WorkError> {
        let folder = self.folder();
        let unfinished = self.home.join(format!("{}.new", self.name));
        drop(fs::remove_dir_all(&unfinished));
        drop(fs::remove_file(self.index()));
        fs::create_dir(&unfinished).map_err(|error| unable("create", &unfinished, &error))?;
        let place = GitPlace { index: &self.index(), folder: &unfinished };
        git.answer(&["read-tree", version], Some(place)).await?;
        git.answer(&["checkout-index", "--all", "--index"], Some(place)).await?;
        make_repository_place(&git.root, &unfinished)
            .map_err(|error| unable("create", &unfinished, &error))?;
        fs::rename(&unfinished, &folder).map_err(|error| unable("rename", &folder, &error))
    }

    /// Keeps the files left by the attempt so far.
    pub async fn save(&self, git: &WorktreeGit) -> Result<(), WorkError> {
        let tree = git.snapshot(GitPlace { index: &self.index(), folder: &self.folder() }).await?;
        let base = git.commit_of(&self.commit_name("base")).await?;
        git.keep(&tree, Some(&base), &self.commit_name("result")).await?;
        Ok(())
    }

    /// Fails if the attempt has left files that cannot be kept.
    pub async fn ensure_kept(&self, git: &WorktreeGit) -> Result<(), WorkError> {
        let place = GitPlace { index: &self.index(), folder: &self.folder() };
        match tracked::filled_repositories(git, place).await?.first() {
            None => Ok(()),
            Some(path) => Err(WorkError::logical(format!(
                "files in `{path}` cannot be merged: it is a repository of its own (a submodule), whose folder is empty in a \
                 worktree; let the agent leave it empty, or work in the workspace itself (leave out `workspace: worktree`)"
            ))),
        }
    }
}

/// Returns the tree of the workspace as it is now, with all files its repository tracks; `home` has the index.
pub(super) async fn snapshot_workspace(git: &WorktreeGit, home: &Path) -> Result<String, WorkError> {
    fs::create_dir_all(home).map_err(|error| unable("create", home, &error))?;
    let place = GitPlace { index: &home.join("workspace.index"), folder: &git.root };
    tracked::track(git, place).await?;
    git.snapshot(place).await
}

/// Makes the place where a sandbox shows the repository.
fn make_repository_place(root: &Path, folder: &Path) -> io::Result<()> {
    let place = folder.join(".git");
    if root.join(".git").is_dir() { fs::create_dir(place) } else { fs::write(place, "") }
}

pub(super) fn unable(tried: &str, path: &Path, error: &io::Error) -> WorkError {
    WorkError::environmental(format!("cannot {tried} {}: {error}", path.display()))
}
