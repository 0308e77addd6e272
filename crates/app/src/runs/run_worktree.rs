//! A worktree of its own for a run: what is committed, checked out beside the work tree in which people work.
//!
//! ```text
//! make         HEAD ──▶ NAME.wf-ID, beside the top of the repository
//! the run      works there; its record is in the state of the workspace
//! bring_back   its products ──▶ the workspace, unless somebody changed them there meanwhile
//! remove       once the run has succeeded and all of its products are there
//! ```
//!
//! A waiting or interrupted run is resumed in its worktree, by its record.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::FlockOperation;
use serde_json::{Value, json};

use crate::{
    CliExitCode, CommandError, Host, Workspace,
    git::{GitLocation, GitRepository},
    specs::load::LoadedPlan,
};
use wf_engine::{WORKTREE, WORKTREE_FOLDER};
use wf_exec::{
    manifest::{ExcludedFiles, WorkspaceManifest},
    view,
};
use wf_model::JsonObject;
use wf_store::{RunFilter, RunRow, StoreError, StoreReader};

/// A worktree for one run.
#[derive(Clone, Debug)]
pub struct RunWorktree {
    /// The top folder of the worktree.
    folder: PathBuf,
    /// The workspace to which the products are brought.
    workspace: Workspace,
    /// The top folder of the work tree around that workspace.
    top: PathBuf,
    /// The checked out commit.
    commit: String,
    /// The lock on the folder, until this process ends; `None`: another process has made it.
    _claim: Option<Arc<File>>,
}

/// The products of a run in a worktree, as they were brought to the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BroughtProducts {
    /// The written files.
    pub brought: Vec<PathBuf>,
    /// The removed files.
    pub removed: Vec<PathBuf>,
    /// The files with other changes meanwhile: those of the run are only in the worktree.
    pub left: Vec<PathBuf>,
}

impl RunWorktree {
    /// Checks out the last commit of the repository around a workspace.
    pub fn make(host: &Host, workspace: Workspace) -> Result<Self, CommandError> {
        let usage = |message: String| CommandError::new(CliExitCode::Usage, message);
        let repository = GitRepository::find(&workspace.root, &workspace.state, &host.vars())?;
        let repository = repository.ok_or_else(|| {
            usage("`--worktree` needs a git repository: the workspace is in none".into())
                .hint("run `git init` and commit, or leave `--worktree` out")
        })?;
        let top = repository.location().top.clone();
        let run = host.new_run()?;
        remove_empty_worktrees(&top);
        let folder = top.with_file_name(format!("{}{}", prefix(&top), run.short()));
        let claim = fs::create_dir(&folder)
            .and_then(|()| claim(&folder, FlockOperation::LockExclusive))
            .map_err(|error| {
                usage(format!("cannot create the worktree {}: {error}", folder.display()))
                    .hint("the folder above the repository must be writable")
            })?;
        let created = repository.commit_of("HEAD").and_then(|commit| {
            repository.add_worktree(&folder, &commit)?;
            Ok(commit)
        });
        let mut worktree =
            Self { folder, workspace, top, commit: String::new(), _claim: Some(Arc::new(claim)) };
        match created {
            Ok(commit) => {
                worktree.commit = commit;
                Ok(worktree)
            }
            Err(error) => {
                worktree.remove();
                Err(CommandError::from(error).hint("`--worktree` checks out the last commit: is there one?"))
            }
        }
    }

    /// Restores the worktree of a recorded run; `None`: it has none.
    pub fn recorded(config: &Value, workspace: &Workspace) -> Option<Self> {
        let commit = config.get(WORKTREE)?.get("commit")?.as_str()?.to_owned();
        let (folder, top) = (recorded_path(config, WORKTREE_FOLDER)?, recorded_path(config, "of")?);
        Some(Self { folder, top, commit, workspace: workspace.clone(), _claim: None })
    }

    /// Adds it to the recorded configuration of a run.
    #[must_use]
    pub fn write_to(&self, config: Value) -> Value {
        let Value::Object(mut fields) = config else { return config };
        fields.insert(
            WORKTREE.into(),
            json!({WORKTREE_FOLDER: self.folder, "of": self.top, "commit": self.commit}),
        );
        Value::Object(fields)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the place in it of a path in the work tree; another path as it is.
    pub fn place(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.top).map_or_else(|_| path.to_path_buf(), |below| self.folder.join(below))
    }

    pub fn workspace(&self) -> Workspace {
        Workspace { root: self.place(&self.workspace.root), state: self.workspace.state.clone() }
    }

    /// Returns the environment of commands in it.
    pub fn host(&self, host: &Host) -> Host {
        host.of_folder(&self.place(host.cwd()), &self.workspace.state)
    }

    /// Brings the products of its run to the workspace: those that differ from the commit it began with.
    pub fn bring_back(
        &self,
        host: &Host,
        loaded: &LoadedPlan,
        params: &JsonObject,
    ) -> Result<BroughtProducts, CommandError> {
        let own = self.workspace();
        let declared: Vec<_> =
            loaded.plan.steps().iter().map(|step| view::declared_by(step, params)).collect();
        let is_product = |path: &Path| declared.iter().any(|declared| declared(path));
        let Some(repository) =
            GitRepository::find(&self.workspace.root, &self.workspace.state, &host.vars())?
        else {
            return Ok(BroughtProducts::default());
        };
        let committed = repository.paths_in(&self.commit)?;
        let changes = [&own.root, &self.workspace.root].map(|root| -> Result<_, CommandError> {
            let work_tree = GitRepository::find(root, &self.workspace.state, &host.vars())?;
            Ok(work_tree
                .map(|repository| repository.changed_since(&self.commit))
                .transpose()?
                .unwrap_or_default())
        });
        let [made, changed] = changes;
        let (new_files, changed) = (made?, changed?);
        let present = WorkspaceManifest::of_workspace(&own.root, &ExcludedFiles::default());
        let present = present.map_err(|error| CommandError::new(CliExitCode::State, error.reason))?;
        let new = present.files().into_iter().filter(|path| !committed.contains(path));
        let paths: BTreeSet<PathBuf> = new.chain(new_files).filter(|path| is_product(path)).collect();
        let mut products = BroughtProducts::default();
        for path in paths {
            let (from, to) = (own.root.join(&path), self.workspace.root.join(&path));
            let failed = |error: io::Error| cannot_bring(&path, &error);
            let is_own = if committed.contains(&path) { changed.contains(&path) } else { is_there(&to) };
            let is_beside = leads_elsewhere(&self.workspace.root, &path);
            if !is_beside && is_same(&from, &to).map_err(failed)? {
                continue;
            }
            if is_own || is_beside {
                products.left.push(path);
                continue;
            }
            bring(&from, &to).map_err(failed)?;
            let list = if is_there(&from) { &mut products.brought } else { &mut products.removed };
            list.push(path);
        }
        Ok(products)
    }

    /// Returns the commit made by the run, if no branch and no tag has it: it would be lost with the worktree.
    pub fn lost_commit(&self, host: &Host) -> Option<String> {
        let repository = GitRepository::find(&self.folder, &self.workspace.state, &host.vars()).ok()??;
        let head = repository.commit_of("HEAD").ok().filter(|head| *head != self.commit)?;
        let named = repository.answer(&["for-each-ref", "--count=1", "--contains", &head]);
        named.is_ok_and(|named| named.is_empty()).then_some(head)
    }

    /// True if there is nothing in it but what is committed.
    pub fn is_clean(&self, host: &Host) -> bool {
        let repository = GitRepository::find(&self.folder, &self.workspace.state, &host.vars());
        let status = repository
            .ok()
            .flatten()
            .map(|repository| repository.answer(&["status", "--porcelain", "--ignored"]));
        matches!(status, Some(Ok(lines)) if lines.is_empty())
    }

    /// Removes the worktree, with what git knows of it.
    pub fn remove(&self) {
        let pointer = self.folder.join(".git");
        let common = GitLocation::find(&self.top).ok().flatten().map(|location| location.common);
        let entries = common.and_then(|common| fs::read_dir(common.join("worktrees")).ok());
        for entry in entries.into_iter().flatten().flatten() {
            let named = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
            if Path::new(named.trim_end()) == pointer {
                drop(fs::remove_dir_all(entry.path()));
            }
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Returns the folder of the worktree of a run, by its recorded configuration, while it is there.
pub fn present_folder(config: &Value) -> Option<PathBuf> {
    recorded_path(config, WORKTREE_FOLDER).filter(|folder| folder.exists())
}

/// Returns the worktrees beside the repository around the workspace without a run or a process making them.
pub fn unrecorded_worktrees(host: &Host) -> Vec<PathBuf> {
    let Workspace { root, state } = host.workspace();
    let Some(location) = GitLocation::find(&root).ok().flatten() else { return Vec::new() };
    let mut worktrees = worktrees_beside(&location.top);
    worktrees.retain(|folder| claim(folder, FlockOperation::NonBlockingLockExclusive).is_ok());
    if worktrees.is_empty() || !state.exists() {
        return worktrees;
    }
    let recorded = || -> Result<BTreeSet<PathBuf>, StoreError> {
        let reader = StoreReader::open(&state)?;
        let runs = reader.runs().list(usize::MAX, &RunFilter::default())?;
        let folder = |run: &RunRow| Ok(recorded_path(&reader.runs().config(&run.id)?, WORKTREE_FOLDER));
        runs.iter().filter_map(|run| folder(run).transpose()).collect()
    };
    // What is not known is not named.
    let Ok(recorded) = recorded() else { return Vec::new() };
    worktrees.retain(|folder| !recorded.contains(folder));
    worktrees
}

fn recorded_path(config: &Value, name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(config.get(WORKTREE)?.get(name)?.as_str()?))
}

/// Returns the beginning of the names of worktrees of a repository.
fn prefix(top: &Path) -> String {
    format!("{}.wf-", top.file_name().unwrap_or_default().to_string_lossy())
}

/// Returns the folders beside a repository with the names of its worktrees.
fn worktrees_beside(top: &Path) -> Vec<PathBuf> {
    let beside = top.parent().and_then(|above| fs::read_dir(above).ok());
    let entries = beside.into_iter().flatten().flatten();
    let prefix = prefix(top);
    let is_one = |entry: &fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id =
            name.strip_prefix(&prefix).is_some_and(|id| id.chars().all(|digit| digit.is_ascii_hexdigit()));
        id && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let mut worktrees: Vec<PathBuf> = entries.filter(is_one).map(|entry| entry.path()).collect();
    worktrees.sort();
    worktrees
}

/// Removes the empty ones, which killed processes have left.
fn remove_empty_worktrees(top: &Path) {
    for folder in worktrees_beside(top) {
        if claim(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            drop(fs::remove_dir(&folder));
        }
    }
}

/// Locks a folder for this process, until the returned file is closed.
fn claim(folder: &Path, lock: FlockOperation) -> io::Result<File> {
    let opened = File::open(folder)?;
    rustix::fs::flock(&opened, lock)?;
    Ok(opened)
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// True if a folder above a path is a link, or no folder: what is written there would be elsewhere.
fn leads_elsewhere(root: &Path, path: &Path) -> bool {
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    let folders = above.filter_map(|above| fs::symlink_metadata(root.join(above)).ok());
    folders.into_iter().any(|metadata| !metadata.is_dir())
}

/// True if two files, or links, are the same, or neither is there.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let content = |path: &Path| match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            Ok(Some((fs::read_link(path)?.into_os_string().into_encoded_bytes(), None)))
        }
        Ok(metadata) => Ok(Some((fs::read(path)?, Some(metadata.permissions().mode() & 0o111 != 0)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    Ok(content(one)? == content(other)?)
}

/// Makes a file or a link like another one, as a whole; removes it if that is not there.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().unwrap_or(Path::new(""));
    let metadata = match fs::symlink_metadata(from) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::remove_file(to),
        Err(error) => return Err(error),
    };
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    if metadata.is_symlink() {
        let place = new.into_temp_path();
        fs::remove_file(&place)?;
        std::os::unix::fs::symlink(fs::read_link(from)?, &place)?;
        return place.persist(to).map_err(io::Error::from);
    }
    io::copy(&mut fs::File::open(from)?, &mut new)?;
    // Who may read and write it is for whoever has the workspace to say.
    let own = fs::symlink_metadata(to).ok().filter(fs::Metadata::is_file);
    let mode = own.unwrap_or_else(|| metadata.clone()).permissions().mode();
    let executable = metadata.permissions().mode() & 0o111 & (mode | mode >> 2);
    new.as_file().set_permissions(fs::Permissions::from_mode(mode & !0o111 | executable))?;
    new.persist(to).map(drop).map_err(io::Error::from)
}

fn cannot_bring(path: &Path, error: &io::Error) -> CommandError {
    let message = format!("cannot bring `{}` from the worktree of the run: {error}", path.display());
    CommandError::new(CliExitCode::State, message)
}
