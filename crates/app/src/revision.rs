//! The files of a workspace as they are in a commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::{CliExitCode, CommandError, Workspace, normalize_path};
use crate::{
    CONFIG, Host,
    git::{GitError, GitRepository},
    specs::load::LoadedPlan,
};
use wf_base::digest::Sha256Digest;
use wf_exec::{HostEnv, view};
use wf_lang::{FileReadError, MAX_FILE, SpecFileSource};
use wf_model::{JsonObject, Step, StepWork};

/// The number of examined versions of a file.
const MAX_VERSIONS: u32 = 200;

/// The files of a workspace as they are in a revision of its git repository.
#[derive(Debug)]
pub struct GitRevision {
    repository: GitRepository,
    /// The name given by the user.
    name: String,
    /// The commit, as git names it.
    commit: String,
    /// The workspace, relative to the top level; empty: the top level itself.
    workspace_prefix: String,
    /// The files and folders of the commit by path, once they were listed.
    tree: OnceLock<BTreeMap<String, GitTreeEntry>>,
}

/// A file or folder of a revision, as git lists it.
#[derive(Debug)]
struct GitTreeEntry {
    mode: String,
    kind: String,
    object: String,
    size: Option<u64>,
}

impl GitRevision {
    /// Finds a revision by any name git has for it, in the repository of a folder. `state` is
    /// the state of its workspace.
    pub fn find(dir: &Path, state: &Path, name: &str, host: &HostEnv) -> Result<Self, CommandError> {
        let repository = GitRepository::find(dir, state, host)?.ok_or_else(|| {
            let message = format!("{} is not in a git repository", dir.display());
            CommandError::new(CliExitCode::Usage, message)
                .hint("name files instead of a revision, or run `git init`")
        })?;
        let revision = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        let commit = repository.answer(&args).map_err(|error| match error {
            GitError::Failed { .. } => {
                let message = format!("unknown revision or file `{name}`");
                CommandError::new(CliExitCode::Usage, message).hint("`git log --oneline` lists revisions")
            }
            other => other.into(),
        })?;
        Ok(Self {
            repository,
            name: name.to_owned(),
            commit: String::from_utf8_lossy(&commit).trim_end().to_owned(),
            workspace_prefix: String::new(),
            tree: OnceLock::new(),
        })
    }

    /// Finds a revision of the files of a workspace.
    pub fn of(workspace: &Workspace, name: &str, host: &HostEnv) -> Result<Self, CommandError> {
        let mut revision = Self::find(&workspace.root, &workspace.state, name, host)?;
        let below = revision.repository.prefix().to_str().unwrap_or("").to_owned();
        revision.workspace_prefix = below;
        Ok(revision)
    }

    /// The folder of the repository's branches.
    pub fn git_dir(&self) -> &Path {
        &self.repository.location().common
    }

    /// The commit, as git names it.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The paths of the Markdown files below some folders of the workspace.
    pub fn specs(&self, folders: &[&str]) -> Result<Vec<String>, GitError> {
        let folders: Vec<PathBuf> = folders.iter().map(|folder| self.whole(folder)).collect();
        let is_spec = |path: &Path| {
            path.extension().is_some_and(|end| end == "md")
                && folders.iter().any(|folder| path.starts_with(folder))
        };
        let inner = |path: &String| {
            let path = Path::new(path);
            let inner = path.strip_prefix(&self.workspace_prefix).ok().filter(|_| is_spec(path))?;
            inner.to_str().map(str::to_owned)
        };
        let files = self.tree()?.iter().filter(|(_, entry)| entry.kind != "tree");
        Ok(files.filter_map(|(path, _)| inner(path)).collect())
    }

    /// Selects a file by its path, relative to the top level, or to a folder where it begins with
    /// `./` or `../`: finds its workspace of then. Returns the path within it.
    pub fn select_file(&mut self, path: &str, dir: &Path) -> Result<String, CommandError> {
        let is_near = path.starts_with("./") || path.starts_with("../");
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let top = &self.repository.location().top;
        let whole = if is_near { dir.join(path) } else { top.join(path) };
        let whole = normalize_path(&whole);
        let inside = whole.strip_prefix(top).ok();
        let Some(inside) = inside.and_then(Path::to_str) else {
            let message = format!("{path} is outside of the repository");
            return Err(CommandError::new(CliExitCode::Usage, message));
        };
        let tree = self.tree()?;
        if !tree.contains_key(inside) {
            let message = format!("{inside} not found in {}", self.name);
            let hint = "a path after `:` is relative to the top level of the repository, as in git; prefix it with ./ for the current directory";
            return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        }
        let folders = Path::new(inside).ancestors().skip(1);
        let root = folders.filter_map(Path::to_str).find(|folder| {
            let config = Path::new(folder).join(CONFIG);
            config.to_str().is_some_and(|config| tree.contains_key(config))
        });
        root.unwrap_or("").clone_into(&mut self.workspace_prefix);
        let inner = Path::new(inside).strip_prefix(&self.workspace_prefix).ok();
        Ok(inner.and_then(Path::to_str).unwrap_or(inside).to_owned())
    }

    /// The workspace at its path on disk.
    pub fn workspace(&self) -> Workspace {
        let root = self.repository.location().top.join(&self.workspace_prefix);
        Workspace { state: root.join(".wf"), root }
    }

    /// The path of a file of the workspace, relative to the top level.
    fn whole(&self, path: &str) -> PathBuf {
        normalize_path(&Path::new(&self.workspace_prefix).join(path))
    }

    /// The files and folders of the commit.
    fn tree(&self) -> Result<&BTreeMap<String, GitTreeEntry>, GitError> {
        if let Some(tree) = self.tree.get() {
            return Ok(tree);
        }
        let args = ["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", &self.commit];
        let listed = self.repository.answer(&args)?;
        let listed = String::from_utf8_lossy(&listed);
        let entries = listed.split('\0').filter_map(|row| {
            let (about, path) = row.split_once('\t')?;
            let mut words = about.split_whitespace();
            let mut word = || words.next().map(str::to_owned);
            let entry =
                GitTreeEntry { mode: word()?, kind: word()?, object: word()?, size: word()?.parse().ok() };
            Some((path.to_owned(), entry))
        });
        Ok(self.tree.get_or_init(|| entries.collect()))
    }
}

impl SpecFileSource for GitRevision {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileReadError> {
        let refused = |error: GitError| FileReadError::Refused(error.to_string());
        let whole = self.whole(path);
        let listed = whole.to_str().and_then(|whole| self.tree().map(|tree| tree.get(whole)).transpose());
        let listed = listed.ok_or(FileReadError::Missing)?.map_err(refused)?;
        match (listed.kind.as_str(), listed.mode.as_str()) {
            ("tree", _) => return Err(FileReadError::Directory),
            ("blob", "120000") => {
                let reason = "it is a link; links in a revision are not followed";
                return Err(FileReadError::Refused(reason.into()));
            }
            ("blob", _) => {}
            _ => return Err(FileReadError::Missing),
        }
        if listed.size.is_none_or(|size| size > MAX_FILE) {
            return Err(FileReadError::TooLarge);
        }
        self.repository.answer(&["cat-file", "blob", &listed.object]).map_err(refused)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let folder = self.whole(folder);
        // A file that cannot be listed is reported when a file is read.
        let files = self.tree().into_iter().flatten().filter(|(_, entry)| entry.kind == "blob");
        let names = files.filter_map(|(path, _)| Path::new(path).strip_prefix(&folder).ok()?.to_str());
        names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// Links of a revision are not followed.
    fn leads_out(&self, _: &str) -> bool {
        false
    }
}

/// A file of a workspace as it once was in its git repository, by the digest of its content; `None`: it is
/// unknown, or git cannot be asked.
pub fn past_text(host: &Host, workspace: &Workspace, path: &str, digest: Sha256Digest) -> Option<String> {
    let repository = repository(host, workspace).ok()??;
    let limit = format!("--max-count={MAX_VERSIONS}");
    let commits = repository.answer(&["rev-list", &limit, "--all", "--", path]).ok()?;
    let whole = normalize_path(&repository.prefix().join(path));
    let whole = whole.to_str().filter(|whole| !whole.contains('\n'))?;
    let names = String::from_utf8_lossy(&commits);
    let names: Vec<String> = names.lines().map(|commit| format!("{commit}:{whole}")).collect();
    let versions = repository.objects(&names).ok()?.0.into_iter().flatten();
    let bytes = { versions }.find(|bytes| Sha256Digest::of_bytes(bytes) == digest)?;
    String::from_utf8(bytes).ok()
}

/// The files of a workspace its git repository tracks, relative to the workspace; `None`: it is in none.
pub fn tracked_files(host: &Host, workspace: &Workspace) -> Result<Option<BTreeSet<PathBuf>>, CommandError> {
    let repository = repository(host, workspace)?;
    Ok(repository.map(|repository| repository.tracked_files()).transpose()?)
}

/// Returns the files git tracks, if checks of a plan may keep some of them; `None`: they do not, or git is silent.
pub fn tracked_check_files(
    host: &Host,
    loaded: &LoadedPlan,
    params: &JsonObject,
) -> Option<BTreeSet<PathBuf>> {
    let plan = &loaded.plan;
    let is_generated = |step: &Step| matches!(step.work, StepWork::Generated(_));
    let may_keep = !view::files_to_keep(plan, &loaded.workspace.root, params).is_empty()
        || view::family(plan).iter().any(|plan| plan.steps().iter().any(is_generated));
    may_keep.then(|| tracked_files(host, &loaded.workspace).ok().flatten()).flatten()
}

fn repository(host: &Host, workspace: &Workspace) -> Result<Option<GitRepository>, GitError> {
    GitRepository::find(&workspace.root, &workspace.state, &host.vars())
}
