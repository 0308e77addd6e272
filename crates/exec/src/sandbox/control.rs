//! Control files: the files in the writable workspace controlling `wf` itself.
//!
//! A grant of a folder does not cover them; only their exact name does, or that of a file in them. Existing ones are
//! shown read-only. Missing ones cannot be protected before they are created, so a step creating one fails, and the
//! file is moved aside. So does one creating a git repository anywhere.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use super::SandboxSpec;
use crate::{
    disk::files::FileIdentity,
    repository::{RepositoryGuard, put_aside},
    work_error::WorkError,
};

/// The control files in folders a step may write, as they were when it began.
#[derive(Debug)]
pub struct ControlFiles {
    root: PathBuf,
    /// The missing ones.
    absent: Vec<String>,
    /// The parent folders of the others: a file that can be neither written nor moved can still be
    /// moved with its folder.
    folders: Vec<(PathBuf, Option<FileIdentity>)>,
    /// The repositories below the workspace; `None`: nothing it starts can create one.
    repositories: Option<RepositoryGuard>,
}

/// Returns the control files no grant names, nor anything in them.
pub(super) fn ungranted(control: &[String], grants: &[String]) -> Vec<String> {
    let is_named = |file: &String| grants.iter().any(|grant| plain(grant).starts_with(file));
    let ungranted = control.iter().filter(|file| !is_named(file));
    ungranted.cloned().collect()
}

/// Returns a path without `.`.
pub(super) fn plain(path: &str) -> PathBuf {
    let parts = Path::new(path).components();
    parts.filter(|part| *part != Component::CurDir).collect()
}

impl ControlFiles {
    /// Records the control files of a workspace that are in writable folders.
    pub(super) fn record(root: &Path, files: &[String], grants: &[String]) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let root = real(root);
        let grants = grants.iter().map(|grant| real(&root.join(plain(grant))));
        let grants: Vec<PathBuf> = grants.collect();
        let (mut absent, mut folders) = (Vec::new(), Vec::new());
        for file in files {
            let at = root.join(file);
            if !grants.iter().any(|grant| at.starts_with(grant)) {
                continue;
            }
            if identity(&at).is_none() {
                absent.push(file.clone());
            }
            let above = at.ancestors().skip(1);
            let above = above.take_while(|folder| **folder != *root);
            folders.extend(above.map(|folder| (folder.to_path_buf(), identity(folder))));
        }
        Self { root, absent, folders, repositories: None }
    }

    /// Records those of a sandbox that may write these paths, and shows read-only the repositories it does not have
    /// yet.
    pub(super) fn protect(
        sandbox: &mut SandboxSpec,
        write: &[String],
        control: &[String],
    ) -> Result<Self, WorkError> {
        let plain_paths = |paths: &[String]| paths.iter().map(|path| plain(path)).collect::<Vec<_>>();
        let named = plain_paths(sandbox.repository_grants.as_deref().unwrap_or(write));
        let guard = RepositoryGuard::record(sandbox.folder(), &plain_paths(write), named, &sandbox.hidden);
        let mut control = control.to_vec();
        let is_control_file = |found: &String| control.contains(found);
        let repositories: Vec<String> =
            guard.unnamed()?.into_iter().filter(|found| !is_control_file(found)).collect();
        control.extend(repositories);
        let files = Self::record(sandbox.folder(), &control, write);
        sandbox.set_control(control);
        Ok(Self { repositories: Some(guard), ..files })
    }

    /// Returns the reason why the work does not count, if it created a control file or moved the
    /// folder of one. Created files are moved aside.
    pub fn violation(&self) -> Option<WorkError> {
        let files = self.absent.iter().filter_map(|file| self.created_file(file));
        // All of them are moved aside, even though only one is reported.
        let files: Vec<String> = files.collect();
        let moved = self.folders.iter().filter_map(|(folder, before)| {
            let moved = before.is_some() && identity(folder) != *before;
            let shown = folder.strip_prefix(&self.root).unwrap_or(folder);
            moved.then(|| format!("`{}` was replaced by another folder", shown.display()))
        });
        let done = files.into_iter().chain(moved).next().map(|done| {
            format!("{done}: it controls wf; if the step must write it, list it in `allow.write`")
        });
        // What was moved aside above may look like a repository of its own.
        let repository = self.repositories.as_ref().and_then(RepositoryGuard::violation);
        done.or(repository).map(WorkError::logical)
    }

    /// Reports a new control file.
    fn created_file(&self, file: &str) -> Option<String> {
        identity(&self.root.join(file))?;
        Some(match put_aside(&self.root, Path::new(file)) {
            Some(aside) => format!("`{file}` was created, and was moved to `{}`", aside.display()),
            None => format!("`{file}` was created; remove it"),
        })
    }
}

fn identity(path: &Path) -> Option<FileIdentity> {
    rustix::fs::lstat(path).ok().map(FileIdentity::from)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ControlFiles, ungranted};

    #[test]
    fn only_an_exact_name_grants_a_control_file() {
        let control = [".git", "wf.yaml", "workflows", "plans/a.md"].map(str::to_owned);
        let left = |grants: &[&str]| {
            let grants: Vec<String> = grants.iter().map(|grant| (*grant).to_owned()).collect();
            ungranted(&control, &grants).join(" ")
        };
        assert_eq!(left(&["."]), ".git wf.yaml workflows plans/a.md");
        assert_eq!(left(&[".", "./.git"]), "wf.yaml workflows plans/a.md");
        assert_eq!(left(&["workflows/out"]), ".git wf.yaml plans/a.md");
        assert_eq!(left(&["plans"]), ".git wf.yaml workflows plans/a.md");
        assert_eq!(left(&["plans/a.md"]), ".git wf.yaml workflows");
        assert_eq!(left(&["workflows.d"]), ".git wf.yaml workflows plans/a.md");
    }

    #[test]
    fn what_is_made_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::write(at("wf.yaml.refused"), "an older one").unwrap();
        let files = ["wf.yaml".to_owned()];
        let look = |grant: &str| ControlFiles::record(dir.path(), &files, &[grant.to_owned()]);
        let (all, out) = (look("."), look("out"));
        assert!(all.violation().is_none());
        fs::write(at("wf.yaml"), "sandbox: off").unwrap();
        assert!(out.violation().is_none(), "somebody else made it");
        let reason = all.violation().unwrap().reason;
        assert!(reason.contains("to `wf.yaml.refused-1`"), "{reason}");
        assert!(!at("wf.yaml").exists() && all.violation().is_none());
    }

    #[test]
    fn a_folder_that_is_moved_is_told_and_a_file_that_somebody_edits_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir(at("plans")).unwrap();
        fs::write(at("plans/a.md"), "a plan").unwrap();
        let files = ["plans/a.md".to_owned()];
        let control = ControlFiles::record(dir.path(), &files, &[".".to_owned()]);
        fs::write(at("new"), "a plan").unwrap();
        fs::rename(at("new"), at("plans/a.md")).unwrap();
        assert!(control.violation().is_none());
        fs::rename(at("plans"), at("old")).unwrap();
        fs::create_dir(at("plans")).unwrap();
        let reason = control.violation().unwrap().reason;
        assert!(reason.contains("`plans`") && reason.contains("another folder"), "{reason}");
    }
}
