//! The making of requests for sandboxes: of steps, checks, gates and tools of a session.

use std::path::{Path, PathBuf};

use wf_model::{Check, ResourceLimits, Step};

use super::{
    KeptCopy, KeptGitFolder, SandboxSpec, WorkspaceLayer, control::ungranted, root::places::TOOL_FOLDERS,
};
use crate::{HostEnv, secrets::keyfile};

/// The common settings of all sandboxes of a session.
#[derive(Clone, Debug)]
pub struct SandboxFactory {
    root: PathBuf,
    /// The folder shown in place of the workspace.
    worktree: Option<PathBuf>,
    /// The state, and the keys of the user.
    hidden: Vec<PathBuf>,
    home: Option<PathBuf>,
    /// The folders of programs.
    tools: Vec<PathBuf>,
    read: Vec<String>,
    /// The folders of the repository around the workspace.
    repository: Vec<PathBuf>,
    /// The folders of git among them shown as they were.
    git_folders: Vec<KeptGitFolder>,
    /// The values of git's `safe.directory` speaking of it.
    trusted: Vec<String>,
    /// The control files, relative to the root.
    control: Vec<String>,
}

impl SandboxFactory {
    /// Returns settings for the workspace `root` with its state in `state`. `read` contains paths
    /// as in the configuration. Neither the state nor keys are ever shown.
    pub fn new(root: &Path, state: &Path, host: &HostEnv, read: &[String]) -> Self {
        let home = host.get("HOME").map(PathBuf::from);
        Self {
            root: root.to_path_buf(),
            worktree: None,
            hidden: std::iter::once(state.to_path_buf()).chain(keyfile::folders(host)).collect(),
            tools: tools(host.get("PATH").map_or("", String::as_str), home.as_deref()),
            home,
            read: read.to_vec(),
            repository: Vec::new(),
            git_folders: Vec::new(),
            trusted: Vec::new(),
            control: Vec::new(),
        }
    }

    /// Adds control files of the workspace: a grant of their folder does not cover them.
    #[must_use]
    pub fn with_control(self, files: impl IntoIterator<Item = String>) -> Self {
        Self { control: files.into_iter().collect(), ..self }
    }

    /// Returns the control files of the workspace, relative to it.
    pub fn control(&self) -> &[String] {
        &self.control
    }

    /// Adds the folders of the repository around the workspace: git reads them.
    #[must_use]
    pub fn with_repository(self, repository: Vec<PathBuf>) -> Self {
        Self { repository, ..self }
    }

    /// Adds the values of git's `safe.directory` by which the user trusts a repository of another user.
    #[must_use]
    pub fn with_trusted(self, trusted: Vec<String>) -> Self {
        Self { trusted, ..self }
    }

    /// Lets git's folders outside of the workspace appear as they were when a run began.
    #[must_use]
    pub fn with_git_folders(&self, git_folders: Vec<KeptGitFolder>) -> Self {
        Self { git_folders, ..self.clone() }
    }

    /// Returns the sandbox of a check, from which these paths of the workspace are hidden, and which
    /// sees these copies.
    pub fn of_check(&self, check: &Check, whiteouts: &[PathBuf], copies: &[KeptCopy]) -> SandboxSpec {
        let whiteouts = whiteouts.to_vec();
        let layer = WorkspaceLayer::Scratch { whiteouts };
        let sandbox = self.sandbox(layer, &check.read, check.network, &check.limits);
        SandboxSpec { copies: copies.to_vec(), ..sandbox }
    }

    /// Returns the sandbox of a step, which may write this output file and for which these paths of
    /// the workspace appear empty; `None`: the step declares none.
    pub fn of_step(&self, step: &Step, output: &Path, unseen: &[PathBuf]) -> Option<SandboxSpec> {
        let allow = step.allow.as_ref()?;
        let layer = WorkspaceLayer::Direct {
            write: allow.write.clone(),
            files: vec![output.to_path_buf()],
            control: ungranted(&self.control, &allow.write),
            unseen: unseen.to_vec(),
        };
        Some(SandboxSpec {
            programs: allow.exec.clone(),
            ..self.sandbox(layer, &allow.read, allow.net, &step.limits)
        })
    }

    /// Returns the sandbox of a program seeing nothing of the workspace, only these writable folders; `at` is an empty
    /// folder.
    pub fn without_workspace(
        &self,
        at: &Path,
        folders: Vec<PathBuf>,
        network: bool,
        limits: &ResourceLimits,
    ) -> SandboxSpec {
        let layer = WorkspaceLayer::Direct {
            write: Vec::new(),
            files: folders,
            control: Vec::new(),
            unseen: Vec::new(),
        };
        let sandbox = self.sandbox(layer, &[], network, limits);
        SandboxSpec { root: at.to_path_buf(), worktree: None, repository: Vec::new(), ..sandbox }
    }

    /// Returns the sandbox of a program that only answers: it may read these paths besides the workspace, nothing it
    /// writes lasts, and it has no network.
    pub fn read_only(&self, read: &[String]) -> SandboxSpec {
        self.sandbox(WorkspaceLayer::default(), read, false, &ResourceLimits::default())
    }

    /// Returns the sandbox of a program writing the folder, in which it may make a repository, and these other folders,
    /// and has no network; it may read these paths besides.
    pub fn writing(&self, folders: Vec<PathBuf>, read: &[String]) -> SandboxSpec {
        let write = [".", ".git"].map(str::to_owned).into();
        let layer = WorkspaceLayer::Direct { write, files: folders, control: Vec::new(), unseen: Vec::new() };
        self.sandbox(layer, read, false, &ResourceLimits::default())
    }

    /// Returns the same settings for another folder as the workspace.
    #[must_use]
    pub fn of_folder(&self, root: &Path) -> Self {
        Self { root: root.to_path_buf(), repository: Vec::new(), ..self.clone() }
    }

    /// Returns the same settings with another folder shown in place of the workspace, at its path.
    #[must_use]
    pub fn of_worktree(&self, worktree: &Path) -> Self {
        Self { worktree: Some(worktree.to_path_buf()), ..self.clone() }
    }

    /// Returns the folder shown as the workspace.
    pub(crate) fn folder(&self) -> &Path {
        self.worktree.as_deref().unwrap_or(&self.root)
    }

    fn sandbox(
        &self,
        layer: WorkspaceLayer,
        read: &[String],
        network: bool,
        limits: &ResourceLimits,
    ) -> SandboxSpec {
        let readable = self.read.iter().chain(read).map(|path| self.resolve_path(path));
        let readable: Vec<PathBuf> = readable.collect();
        let at_home = self.home.iter().flat_map(|home| TOOL_FOLDERS.map(|tool| home.join(tool)));
        SandboxSpec {
            root: self.root.clone(),
            worktree: self.worktree.clone(),
            layer,
            granted: readable.iter().cloned().chain(at_home).collect(),
            read: self.tools.iter().cloned().chain(readable).collect(),
            repository: self.repository.clone(),
            git_folders: self.git_folders.clone(),
            trusted: self.trusted.clone(),
            copies: Vec::new(),
            reports: None,
            hidden: self.hidden.clone(),
            home: self.home.clone(),
            network,
            gateway: None,
            repository_grants: None,
            programs: None,
            limits: limits.clone(),
        }
    }

    /// Resolves a path of a spec.
    fn resolve_path(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.root.join(path),
        }
    }
}

/// Returns the folders of a `PATH`, and the folders of version managers to which they lead: below
/// the home folder, and wherever the `PATH` names one of theirs.
fn tools(path: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let bins: Vec<PathBuf> = path
        .split(':')
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute() && holds_programs(folder, home))
        .collect();
    let mut homes: Vec<PathBuf> = home.map(Path::to_path_buf).into_iter().collect();
    for folder in bins.iter().flat_map(|bin| bin.ancestors()) {
        if let (Some(parent), Some(name)) = (folder.parent(), folder.file_name())
            && TOOL_FOLDERS.iter().any(|tool| Path::new(tool).iter().next() == Some(name))
        {
            homes.push(parent.to_path_buf());
        }
    }
    let folders = homes.iter().flat_map(|home| TOOL_FOLDERS.iter().map(|tool| home.join(tool)));
    let mut tools: Vec<PathBuf> = bins.iter().cloned().chain(folders).collect();
    tools.sort();
    tools.dedup();
    tools
}

/// True if a folder may be shown because it is in the `PATH`: not if it contains much else, such as
/// the home folder.
fn holds_programs(folder: &Path, home: Option<&Path>) -> bool {
    let crowded = ["/home", "/root", "/run", "/srv", "/tmp", "/var", "/var/tmp"];
    let holds = |other: &Path| other.starts_with(folder);
    !crowded.iter().any(|other| holds(Path::new(other))) && !home.is_some_and(holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::name::Name;

    #[test]
    fn paths_mean_what_they_say() {
        let host = HostEnv::from([
            ("HOME".into(), "/home/ada".into()),
            ("PATH".into(), "/usr/bin:.:/home/ada/bin".into()),
        ]);
        let around = SandboxFactory::new(Path::new("/w"), Path::new("/w/.wf"), &host, &["/srv".into()]);
        let mut check = Check::new(Name::parse("it").unwrap());
        check.read = vec!["~/data".into(), "in".into()];
        let sandbox = around.of_check(&check, &[], &[]);
        for path in ["/usr/bin", "/home/ada/bin", "/srv", "/home/ada/data", "/w/in", "/home/ada/.rustup"] {
            assert!(sandbox.read.iter().any(|read| read == Path::new(path)), "{path}");
        }
        assert!(sandbox.read.iter().all(|read| read.is_absolute()));
        assert_eq!(sandbox.hidden, ["/w/.wf", "/home/ada/.config/wf/keys"].map(Path::new));
        let whiteouts = Vec::new();
        let layer = WorkspaceLayer::Scratch { whiteouts };
        assert_eq!((sandbox.layer, sandbox.network), (layer, false));
    }

    #[test]
    fn version_managers_are_shown_wherever_they_are() {
        let shown = tools("/root/.pyenv/shims:/opt/x/.cargo/bin:/home/ada/bin", None);
        let has = |path: &str| shown.iter().any(|one| one == Path::new(path));
        for path in ["/root/.pyenv", "/root/.rustup", "/opt/x/.cargo/registry", "/home/ada/bin"] {
            assert!(has(path), "{path}");
        }
        for path in ["/root", "/opt/x/.cargo", "/home/ada", "/home/ada/.pyenv"] {
            assert!(!has(path), "{path}");
        }
    }

    #[test]
    fn a_path_does_not_show_what_is_more_than_programs() {
        let home = Some(Path::new("/users/ada"));
        let shown = tools("/:/users:/users/ada:/users/ada/bin:/tmp:/tmp/bin", home);
        let has = |path: &str| shown.iter().any(|one| one == Path::new(path));
        assert!(has("/users/ada/bin") && has("/tmp/bin"));
        for path in ["/", "/users", "/users/ada", "/tmp"] {
            assert!(!has(path), "{path}");
        }
    }

    #[test]
    fn no_folder_of_tools_can_hold_secrets_of_others() {
        for tool in TOOL_FOLDERS {
            for secret in [
                ".ssh",
                ".gnupg",
                ".aws",
                ".config",
                ".local/share",
                ".cargo",
                ".netrc",
                ".docker",
                ".dotnet/corefx/cryptography/x509stores",
                ".local/share/uv/credentials",
            ] {
                assert!(!Path::new(secret).starts_with(tool), "{tool} shows {secret}");
            }
        }
    }
}
