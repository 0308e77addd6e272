//! The request for a sandbox: the view of a process, and its rights.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use wf_model::ResourceLimits;

use super::ControlFiles;
use crate::work_error::WorkError;

/// The view and the rights of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// The workspace's root; absolute.
    pub root: PathBuf,
    /// The folder shown in its place, with the repository of the workspace; absolute. `None`: itself.
    #[serde(default)]
    pub worktree: Option<PathBuf>,
    /// The view of the workspace.
    pub layer: WorkspaceLayer,
    /// Readable folders and files besides those of the system; absolute. Missing ones are skipped.
    pub read: Vec<PathBuf>,
    /// The folders of the repository around the workspace, and the `.git` with their names: readable, so that git works
    /// as it does outside; absolute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repository: Vec<PathBuf>,
    /// The folders of git among them appearing as they were when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git_folders: Vec<KeptGitFolder>,
    /// The values of git's `safe.directory` speaking of the repository, by which the user trusts one of another user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trusted: Vec<String>,
    /// Readable files of the system that other users cannot read, because they were granted;
    /// absolute.
    pub granted: Vec<PathBuf>,
    /// Files of the workspace appearing as copies. Without layers they appear as they are.
    #[serde(default)]
    pub copies: Vec<KeptCopy>,
    /// The writable folder for the test report of a check; absolute, and there.
    #[serde(default)]
    pub reports: Option<PathBuf>,
    /// Folders appearing empty in every place where they are seen; absolute.
    pub hidden: Vec<PathBuf>,
    /// The home folder: empty and writable, except for its readable parts.
    pub home: Option<PathBuf>,
    /// True if the network may be used.
    pub network: bool,
    /// The socket of the [`GatewayPort`](super::GatewayPort) whose port its programs reach, where it has no network;
    /// `None`: they reach nothing.
    #[serde(default)]
    pub gateway: Option<PathBuf>,
    /// The paths by whose exact names a repository of git is permitted; `None`: the writable ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_grants: Option<Vec<String>>,
    /// The only programs that may be executed; `None`: all.
    pub programs: Option<Vec<String>>,
    /// The resource limits. Limits not set have defaults, which are enforced where the machine can; limits set must be
    /// enforced.
    pub limits: ResourceLimits,
}

impl SandboxSpec {
    /// Records the control files and their folders, which no grant covers. `makes_repositories`: its processes may
    /// create a git repository, so existing ones are found and protected.
    pub(crate) fn record_control(
        &mut self,
        makes_repositories: bool,
    ) -> Result<Option<ControlFiles>, WorkError> {
        let WorkspaceLayer::Direct { write, control, .. } = &self.layer else { return Ok(None) };
        if write.is_empty() {
            return Ok(None);
        }
        if !makes_repositories {
            return Ok(Some(ControlFiles::record(self.folder(), control, write)));
        }
        let (write, control) = (write.clone(), control.clone());
        ControlFiles::protect(self, &write, &control).map(Some)
    }

    /// Sets the read-only paths inside writable folders.
    pub(super) fn set_control(&mut self, paths: Vec<String>) {
        if let WorkspaceLayer::Direct { control, .. } = &mut self.layer {
            *control = paths;
        }
    }

    /// Returns the writable files and folders outside the workspace.
    pub(super) fn writable_elsewhere(&self) -> impl Iterator<Item = &PathBuf> {
        let files: &[PathBuf] = match &self.layer {
            WorkspaceLayer::Direct { files, .. } => files,
            WorkspaceLayer::Scratch { .. } => &[],
        };
        files.iter().chain(&self.reports)
    }

    /// True if the top level of the repository is above the workspace. Git must be told to look for it there: the
    /// workspace is a mount.
    pub(super) fn is_below_repository(&self) -> bool {
        let tops =
            self.repository.iter().filter(|path| path.ends_with(".git")).filter_map(|path| path.parent());
        tops.into_iter().any(|top| top != self.root && self.root.starts_with(top))
    }

    /// Returns the folder shown as the workspace.
    pub(super) fn folder(&self) -> &Path {
        self.worktree.as_deref().unwrap_or(&self.root)
    }

    /// Adds an executable program, if programs are restricted.
    pub fn starts(&mut self, program: Option<&String>) {
        if let (Some(programs), Some(program)) = (&mut self.programs, program)
            && !programs.contains(program)
        {
            programs.push(program.clone());
        }
    }
}

/// A file of the workspace appearing with the content and the permissions of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCopy {
    /// Its path, relative to the workspace, without links.
    pub path: PathBuf,
    /// The copy; absolute.
    pub copy: PathBuf,
    /// True if the file appears also where it is not there any more, or something else is in its place: it is as it was when
    /// the run began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_original: bool,
}

/// A folder of git outside of the workspace appearing with the branches, the index and the HEAD that were kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptGitFolder {
    /// The folder, without links; absolute.
    pub folder: PathBuf,
    /// The folder with the kept files; absolute.
    pub copy: PathBuf,
}

/// The way in which a sandbox shows the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceLayer {
    /// A scratch copy: the workspace as it is, with all writes discarded.
    Scratch {
        /// Hidden paths, relative to the workspace.
        #[serde(default)]
        whiteouts: Vec<PathBuf>,
    },
    /// The workspace itself, all of it readable and only parts writable.
    Direct {
        /// The writable folders and files, relative to the workspace. A missing folder is created.
        write: Vec<String>,
        /// The writable files and folders in other places, which exist.
        files: Vec<PathBuf>,
        /// Read-only paths inside writable folders, relative to the workspace.
        #[serde(default)]
        control: Vec<String>,
        /// Paths appearing empty, relative to the workspace.
        #[serde(default)]
        unseen: Vec<PathBuf>,
    },
}

impl Default for WorkspaceLayer {
    fn default() -> Self {
        Self::Scratch { whiteouts: Vec::new() }
    }
}
