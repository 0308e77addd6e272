use std::{
    collections::BTreeSet,
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::sync::watch;

use super::{GitError, GitLocation};
use wf_base::untrusted::UntrustedText;
use wf_core::machine::WorkExit;
use wf_exec::{
    HostEnv, ProcessExecutor, StopLevel,
    originals::WorkspaceRepository,
    probe::{ProbeJob, ProbeOutcome, ProbeRole},
    process::ProcessCommand,
    sandbox::{OFF_REMEDY, SandboxFactory},
};

/// The time limit for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_mins(2);

/// The largest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 128 << 20;

/// The variables of git: no settings but those of the repository, none of which is to matter.
const VARIABLES: [(&str, &str); 10] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // An object is what its name says.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// The mode of a submodule in an index.
const SUBMODULE: &str = "160000";

/// A repository git reads in a sandbox, as seen from a folder in its work tree.
///
/// **Invariant:** git can write nothing that lasts and has no network; it sees the folder, the
/// repository and the programs of the system, not the home folder, the state or the keys. It gets no
/// variable of its caller but `PATH`.
#[derive(Clone, Debug)]
pub struct GitRepository {
    location: GitLocation,
    /// The folder, without links.
    folder: PathBuf,
    sandbox: SandboxFactory,
    path: String,
}

/// The contents of objects, in the order in which they were named; `None`: there is no such object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitObjects(pub Vec<Option<Vec<u8>>>);

impl GitRepository {
    /// Finds the repository a folder is in; `None`: it is in none. The state is in `state`.
    pub fn find(folder: &Path, state: &Path, host: &HostEnv) -> Result<Option<Self>, GitError> {
        let git_location = GitLocation::find(folder)?;
        git_location.map(|location| Self::new(location, folder, state, host)).transpose()
    }

    /// Returns a repository without a work tree.
    pub fn bare(dir: &Path, state: &Path, host: &HostEnv) -> Result<Self, GitError> {
        Self::new(GitLocation::bare(dir)?, dir, state, host)
    }

    fn new(location: GitLocation, folder: &Path, state: &Path, host: &HostEnv) -> Result<Self, GitError> {
        let folder = folder.canonicalize().map_err(|error| GitError::Unreadable {
            path: folder.to_path_buf(),
            reason: error.to_string(),
        })?;
        let sandbox = SandboxFactory::new(&folder, state, host, &[]);
        let path = host.get("PATH").cloned().unwrap_or_default();
        Ok(Self { location, folder, sandbox, path })
    }

    /// Returns its folders.
    pub fn location(&self) -> &GitLocation {
        &self.location
    }

    /// Returns the folder, relative to the top level.
    pub fn prefix(&self) -> &Path {
        self.folder.strip_prefix(&self.location.top).unwrap_or(Path::new(""))
    }

    /// Returns the output of a git command.
    pub fn answer(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let outcome = self.run(args, None)?;
        if outcome.truncated {
            let limit = MAX_ANSWER_BYTES >> 20;
            return Err(GitError::Unable(format!("its output is larger than {limit} MiB")));
        }
        Ok(outcome.out)
    }

    /// Returns the contents of objects by their names; those beyond the largest answer are missing.
    pub fn objects(&self, names: &[String]) -> Result<GitObjects, GitError> {
        if names.is_empty() {
            return Ok(GitObjects::default());
        }
        let input: String = names.iter().map(|name| format!("{name}\n")).collect();
        let outcome = self.run(&["cat-file", "--batch"], Some(input))?;
        let mut objects = GitObjects::parse(&outcome.out);
        objects.0.resize(names.len(), None);
        Ok(objects)
    }

    /// Returns the tracked files of the folder, relative to it, with those of submodules.
    pub fn tracked_files(&self) -> Result<BTreeSet<PathBuf>, GitError> {
        let listed = self.answer(&["ls-files", "-z", "--cached", "--stage"])?;
        let mut files = BTreeSet::new();
        for row in listed.split(|byte| *byte == 0).filter(|row| !row.is_empty()) {
            let Some(tab) = row.iter().position(|byte| *byte == b'\t') else {
                return Err(GitError::Unable("it lists files in an unknown format".into()));
            };
            let path = Path::new(OsStr::from_bytes(&row[tab + 1..]));
            let submodule = if row.starts_with(SUBMODULE.as_bytes()) { self.submodule(path)? } else { None };
            match submodule {
                Some(inner) => {
                    files.extend(inner.tracked_files()?.into_iter().map(|file| path.join(file)));
                }
                None => drop(files.insert(path.to_path_buf())),
            }
        }
        Ok(files)
    }

    /// Returns the commit of a name.
    pub fn commit_of(&self, name: &str) -> Result<String, GitError> {
        let commit =
            self.answer(&["rev-parse", "--verify", "--end-of-options", &format!("{name}^{{commit}}")])?;
        Ok(String::from_utf8_lossy(&commit).trim_end().to_owned())
    }

    /// Checks out a commit into an empty folder, as a work tree of its own. No hook and no filter of the user runs.
    pub fn add_worktree(&self, folder: &Path, commit: &str) -> Result<(), GitError> {
        let worktrees = self.location.common.join("worktrees");
        let unable = |error: std::io::Error| GitError::Unable(error.to_string());
        std::fs::create_dir_all(&worktrees).map_err(unable)?;
        let place = text(folder)?;
        let mut command = self.command(&["worktree", "add", "--quiet", "--detach", &place, commit], None)?;
        let sandbox = self.sandbox.of_folder(folder);
        command.cwd = folder.to_path_buf();
        command.sandbox = Some(sandbox.writing(vec![worktrees], &self.shown()?));
        Self::run_command("worktree add", command).map(drop)
    }

    /// Returns the files of a commit, relative to the folder.
    pub fn paths_in(&self, commit: &str) -> Result<BTreeSet<PathBuf>, GitError> {
        let listed = self.answer(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])?;
        let whole = paths(&listed);
        Ok(whole.filter_map(|path| Some(path.strip_prefix(self.prefix()).ok()?.to_path_buf())).collect())
    }

    /// Returns the files of a commit that are not as they are in it, relative to the folder.
    pub fn changed_since(&self, commit: &str) -> Result<BTreeSet<PathBuf>, GitError> {
        let args = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--relative", commit, "--"];
        Ok(paths(&self.answer(&args)?).map(Path::to_path_buf).collect())
    }

    /// Returns the repository of a submodule, if it is there. Git is not asked: it leaves out what its
    /// settings tell it to.
    fn submodule(&self, path: &Path) -> Result<Option<Self>, GitError> {
        let folder = self.folder.join(path);
        // A link would lead elsewhere, or in circles.
        if folder.canonicalize().ok().as_ref() != Some(&folder) {
            return Ok(None);
        }
        let location = GitLocation::at(&folder)?;
        Ok(location.map(|location| {
            let sandbox = self.sandbox.of_folder(&folder);
            Self { location, folder, sandbox, path: self.path.clone() }
        }))
    }

    fn run(&self, args: &[&str], input: Option<String>) -> Result<ProbeOutcome, GitError> {
        let command = self.command(args, input)?;
        Self::run_command(args.first().copied().unwrap_or_default(), command)
    }

    fn run_command(verb: &str, command: ProcessCommand) -> Result<ProbeOutcome, GitError> {
        let probe = ProbeJob {
            command,
            timeout: TIMEOUT,
            grace: Duration::from_secs(1),
            keep: MAX_ANSWER_BYTES,
            output: None,
            role: ProbeRole::Observer,
        };
        let outcome = wait_for(probe)?;
        let reason = match &outcome.exit {
            WorkExit::Code { code: 0 } => return Ok(outcome),
            WorkExit::Code { code } => {
                return Err(GitError::failed(verb, *code, &outcome.err));
            }
            WorkExit::Error { reason, .. } => reason.strip_suffix(OFF_REMEDY).unwrap_or(reason).to_owned(),
            other => other.to_string(),
        };
        Err(GitError::Unable(reason))
    }

    /// Returns the folders of the repository, which git reads.
    fn shown(&self) -> Result<Vec<String>, GitError> {
        let GitLocation { dir, common, objects, .. } = &self.location;
        [dir, common].into_iter().chain(objects).map(|path| text(path)).collect()
    }

    fn command(&self, args: &[&str], input: Option<String>) -> Result<ProcessCommand, GitError> {
        let GitLocation { top, dir, .. } = &self.location;
        let mut env: Vec<(String, String)> =
            VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        env.push(("GIT_DIR".to_owned(), text(dir)?));
        env.push(("PATH".to_owned(), self.path.clone()));
        if top != dir {
            env.push(("GIT_WORK_TREE".to_owned(), text(top)?));
        }
        let switches = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        Ok(ProcessCommand {
            argv: switches.iter().chain(args).map(|word| (*word).to_owned()).collect(),
            env,
            cwd: self.folder.clone(),
            sandbox: Some(self.sandbox.read_only(&self.shown()?)),
            pins: None,
            input,
        })
    }
}

impl WorkspaceRepository for GitRepository {
    fn index(&self) -> PathBuf {
        self.location.dir.join("index")
    }

    fn folders(&self) -> [PathBuf; 2] {
        [self.location.dir.clone(), self.location.common.clone()]
    }

    fn prefix(&self) -> PathBuf {
        Self::prefix(self).to_path_buf()
    }

    fn blobs(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        self.objects(names).map_or_else(|_| vec![None; names.len()], |objects| objects.0)
    }
}

impl GitError {
    /// Returns the error of git.
    pub(super) fn failed(verb: &str, code: i32, stderr: &[u8]) -> Self {
        let stderr_text = String::from_utf8_lossy(stderr);
        let line = stderr_text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no error message");
        let message = UntrustedText::printed(line.as_bytes()).to_string();
        Self::Failed { verb: verb.to_owned(), code, message: message.trim().to_owned() }
    }
}

impl GitObjects {
    /// Reads the output of `cat-file --batch`, as far as it goes.
    fn parse(mut output: &[u8]) -> Self {
        let mut contents = Vec::new();
        while let Some(end) = output.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = (&output[..end], &output[end + 1..]);
            let size = head.rsplit(|byte| *byte == b' ').next();
            let size = size.and_then(|size| str::from_utf8(size).ok()?.parse::<usize>().ok());
            output = match size {
                None => {
                    contents.push(None);
                    rest
                }
                Some(size) => {
                    let Some((content, rest)) = rest.split_at_checked(size) else {
                        break;
                    };
                    contents.push(Some(content.to_vec()));
                    rest.get(1..).unwrap_or_default()
                }
            };
        }
        Self(contents)
    }
}

/// Reads paths ending with NUL.
fn paths(listed: &[u8]) -> impl Iterator<Item = &Path> {
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| Path::new(OsStr::from_bytes(path)))
}

fn text(path: &Path) -> Result<String, GitError> {
    let path = path.to_str().map(str::to_owned);
    path.ok_or_else(|| GitError::Unable("the path of the repository is not UTF-8".into()))
}

/// Runs a probe on a thread of its own: the caller may be within a runtime, which must not be entered
/// twice.
pub(super) fn wait_for(probe: ProbeJob) -> Result<ProbeOutcome, GitError> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| GitError::Unable(error.to_string()))?;
        let (_stop, heard) = watch::channel(StopLevel::No);
        Ok(runtime.block_on(ProcessExecutor::InProcess.probe(probe, heard)))
    };
    let ended = std::thread::scope(|scope| scope.spawn(run).join());
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::GitObjects;

    #[test]
    fn objects_are_read_as_far_as_they_go() {
        let output = b"aa blob 4\na\nb\n\nHEAD:x y missing\nbb blob 0\n\ncc blob 9\nshort";
        let parsed = GitObjects::parse(output);
        assert_eq!(parsed.0, [Some(b"a\nb\n".to_vec()), None, Some(Vec::new())]);
    }
}
