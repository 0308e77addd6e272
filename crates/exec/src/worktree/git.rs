//! The calls of git for worktrees: with fixed settings, a time limit, and errors as failures of work.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::sync::watch;

use wf_base::untrusted::UntrustedText;
use wf_core::machine::WorkExit;

use super::tree::unable;
use crate::{
    HostEnv,
    processes::{
        probe::{ProbeJob, ProbeRole},
        process::ProcessCommand,
    },
    work::executor::ProcessExecutor,
    work_error::{StopLevel, WorkError},
};

/// The time limit for an answer.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The largest answer, in bytes.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// The variables of git: no settings but those of the repository, and the same author and time for all commits, so the
/// same files have the same name.
const VARIABLES: [(&str, &str); 14] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_AUTHOR_DATE", "@1000000000 +0000"),
    ("GIT_AUTHOR_EMAIL", "wf"),
    ("GIT_AUTHOR_NAME", "wf"),
    ("GIT_COMMITTER_DATE", "@1000000000 +0000"),
    ("GIT_COMMITTER_EMAIL", "wf"),
    ("GIT_COMMITTER_NAME", "wf"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// The settings keeping git from running programs, and from changing the bytes of files.
const SETTINGS: [&str; 14] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.looseCompression=1",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "merge.renames=false",
    "submodule.recurse=false",
];

/// The repository of a run's worktrees.
#[derive(Clone, Debug)]
pub struct WorktreeGit {
    executor: ProcessExecutor,
    /// The workspace.
    pub(super) root: PathBuf,
    folder: PathBuf,
    path: String,
    /// Its path for people, in the workspace they see.
    shown: String,
    /// The name of the tree without files: with it, no file says what git does with the others.
    nothing: String,
}

/// The files a command of git works with.
#[derive(Clone, Copy)]
pub(super) struct GitPlace<'a> {
    pub(super) index: &'a Path,
    /// The folder of the files.
    pub(super) folder: &'a Path,
}

impl GitPlace<'_> {
    /// Removes the lock of a process that was killed: nobody else uses this index.
    pub(super) fn unlock(&self) {
        drop(fs::remove_file(self.index.with_extension("index.lock")));
    }
}

/// The answer of git.
pub(super) struct GitAnswer {
    pub(super) code: i32,
    pub(super) out: Vec<u8>,
}

impl GitAnswer {
    /// Returns the output of a command that is to succeed.
    pub(super) fn successful(self, command: &str) -> Result<Vec<u8>, WorkError> {
        if self.code == 0 {
            return Ok(self.out);
        }
        let message = UntrustedText::printed(first_line(&self.out)).to_string();
        Err(WorkError::environmental(format!("git {command} failed: {}", message.trim())))
    }
}

impl WorktreeGit {
    /// Opens the repository in a folder, which people know as `shown`, or makes it; it never has files of the folders
    /// `apart`. The workspace must be the top folder of a repository of its own.
    pub async fn open(
        executor: ProcessExecutor,
        root: &Path,
        host: &HostEnv,
        folder: &Path,
        apart: &[PathBuf],
        shown: String,
    ) -> Result<Self, WorkError> {
        let own = root.join(".git");
        if own.symlink_metadata().is_err() {
            return Err(WorkError::logical(
                "`workspace: worktree` needs a workspace that is the top folder of a git repository; run `git init` \
                 there, or leave `workspace` out",
            ));
        }
        let path = host.get("PATH").cloned().unwrap_or_default();
        let (root, nothing) = (root.to_path_buf(), String::new());
        let mut git = Self { executor, root, folder: folder.to_path_buf(), path, shown, nothing };
        if !folder.exists() {
            git.init(&own, apart).await?;
        }
        git.nothing = git.line(&["hash-object", "-t", "tree", "/dev/null"]).await?;
        Ok(git)
    }

    /// Makes the repository, which ignores the same files as another one. It borrows no objects: git would touch them,
    /// and checks see that.
    async fn init(&self, own: &Path, apart: &[PathBuf]) -> Result<(), WorkError> {
        let of = Self { folder: own.to_path_buf(), ..self.clone() };
        let format = of.line(&["rev-parse", "--show-object-format"]).await?;
        let ignored = of.line(&["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]).await?;
        let mut ignored = fs::read(&ignored).unwrap_or_default();
        let below = apart.iter().filter_map(|folder| folder.strip_prefix(&self.root).ok());
        ignored.extend(below.flat_map(|folder| ignore_line(folder).into_bytes()));
        let unfinished = self.folder.with_extension("new");
        drop(fs::remove_dir_all(&unfinished));
        let new = Self { folder: unfinished.clone(), ..self.clone() };
        new.line(&["init", "--quiet", "--bare", "--template=", &format!("--object-format={format}")]).await?;
        let written = fs::create_dir_all(unfinished.join("info"))
            .and_then(|()| fs::write(unfinished.join("info/exclude"), ignored))
            .and_then(|()| fs::rename(&unfinished, &self.folder));
        written.map_err(|error| unable("create", &self.folder, &error))
    }

    /// Makes the repository of a workspace that came to this host without one: it has one commit, of the files as they
    /// are. `unfinished` is a folder for it until it is complete, outside of the workspace.
    pub async fn make_own(
        executor: ProcessExecutor,
        root: &Path,
        host: &HostEnv,
        unfinished: &Path,
    ) -> Result<(), WorkError> {
        let own = root.join(".git");
        if own.symlink_metadata().is_ok() {
            return Ok(());
        }
        drop(fs::remove_dir_all(unfinished));
        fs::create_dir_all(unfinished).map_err(|error| unable("create", unfinished, &error))?;
        // By this name, git knows that it is one with files.
        let folder = unfinished.join(".git");
        let path = host.get("PATH").cloned().unwrap_or_default();
        let (root, shown, nothing) = (root.to_path_buf(), String::new(), String::new());
        let mut git = Self { executor, root, folder: folder.clone(), path, shown, nothing };
        git.line(&["init", "--quiet", "--template=", "--initial-branch=main"]).await?;
        git.nothing = git.line(&["hash-object", "-t", "tree", "/dev/null"]).await?;
        let place = GitPlace { index: &folder.join("index"), folder: &git.root };
        let tree = git.snapshot(place).await?;
        git.keep(&tree, None, "refs/heads/main").await?;
        match fs::rename(&folder, &own) {
            Err(error) if own.symlink_metadata().is_err() => Err(unable("create", &own, &error)),
            _ => Ok(()),
        }
    }

    /// Returns the repository of the workspace.
    pub(super) fn own(&self) -> Self {
        Self { folder: self.root.join(".git"), ..self.clone() }
    }

    /// Puts what its references name into packs, beside those it has.
    pub async fn pack(&self) -> Result<(), WorkError> {
        self.answer(&["repack", "-d", "-q", "-n"], None).await.map(drop)
    }

    /// Returns its path for people.
    pub(super) fn shown_path(&self) -> String {
        self.shown.clone()
    }

    /// Returns the output of a command that is to succeed.
    pub(super) async fn answer(
        &self,
        args: &[&str],
        place: Option<GitPlace<'_>>,
    ) -> Result<Vec<u8>, WorkError> {
        self.run_git(args, place, None).await?.successful(args.first().unwrap_or(&""))
    }

    /// Returns the output of a command printing one line.
    pub(super) async fn line(&self, args: &[&str]) -> Result<String, WorkError> {
        let out = self.answer(args, None).await?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    /// Returns the commit a reference names.
    pub(super) async fn commit_of(&self, reference: &str) -> Result<String, WorkError> {
        self.line(&["rev-parse", "--verify", "--end-of-options", &format!("{reference}^{{commit}}")]).await
    }

    /// Returns the commit a reference names, if there is one.
    pub(super) async fn find_commit(&self, reference: &str) -> Result<Option<String>, WorkError> {
        let named = format!("{reference}^{{commit}}");
        let answer = self
            .run_git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named], None, None)
            .await?;
        Ok((answer.code == 0).then(|| String::from_utf8_lossy(&answer.out).trim().to_owned()))
    }

    /// Makes a commit of a tree, kept under a reference.
    pub(super) async fn keep(
        &self,
        tree: &str,
        parent: Option<&str>,
        reference: &str,
    ) -> Result<String, WorkError> {
        let mut args = vec!["commit-tree", "-m", "wf"];
        args.extend(parent.into_iter().flat_map(|parent| ["-p", parent]));
        args.push(tree);
        let commit = self.line(&args).await?;
        self.line(&["update-ref", reference, &commit]).await?;
        Ok(commit)
    }

    /// Returns the tree of a folder's files, without those that are ignored. The index is only there to make it fast.
    pub(super) async fn snapshot(&self, place: GitPlace<'_>) -> Result<String, WorkError> {
        place.unlock();
        self.answer(&["add", "-A", "--", "."], Some(place)).await?;
        let tree = self.answer(&["write-tree"], Some(place)).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Runs a command of git.
    pub(super) async fn run_git(
        &self,
        args: &[&str],
        place: Option<GitPlace<'_>>,
        input: Option<String>,
    ) -> Result<GitAnswer, WorkError> {
        let probe = ProbeJob {
            command: self.command(args, place, input),
            timeout: TIMEOUT,
            grace: Duration::from_secs(1),
            keep: MAX_ANSWER_BYTES,
            output: None,
            role: ProbeRole::Observer,
        };
        let (_stop, heard) = watch::channel(StopLevel::No);
        let outcome = self.executor.probe(probe, heard).await;
        if outcome.truncated {
            let limit = MAX_ANSWER_BYTES >> 20;
            return Err(WorkError::environmental(format!("git printed more than {limit} MiB")));
        }
        match outcome.exit {
            WorkExit::Code { code } if code > 1 => Ok(GitAnswer { code, out: outcome.err }),
            WorkExit::Code { code } if code == 1 && outcome.out.is_empty() => {
                Ok(GitAnswer { code, out: outcome.err })
            }
            WorkExit::Code { code } => Ok(GitAnswer { code, out: outcome.out }),
            other => Err(WorkError::environmental(format!("git: {other}"))),
        }
    }

    fn command(&self, args: &[&str], place: Option<GitPlace<'_>>, input: Option<String>) -> ProcessCommand {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let folder = place.map_or(self.root.as_path(), |place| place.folder);
        let mut env: Vec<(String, String)> =
            VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        env.push(("GIT_DIR".into(), text(&self.folder)));
        // A new repository has no work tree.
        env.extend(place.map(|_| ("GIT_WORK_TREE".into(), text(folder))));
        env.push(("PATH".into(), self.path.clone()));
        env.extend(place.map(|place| ("GIT_INDEX_FILE".into(), text(place.index))));
        let mut argv = vec!["git".to_owned()];
        argv.extend(SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]));
        if !self.nothing.is_empty() {
            argv.push(format!("--attr-source={}", self.nothing));
        }
        argv.extend(args.iter().map(|word| (*word).to_owned()));
        ProcessCommand { input, ..ProcessCommand::new(argv, env, folder.to_path_buf()) }
    }
}

/// Returns the line that lets git ignore a folder.
fn ignore_line(folder: &Path) -> String {
    let mut line = "\n/".to_owned();
    for letter in folder.to_string_lossy().chars() {
        if matches!(letter, '*' | '?' | '[' | '\\' | ' ') {
            line.push('\\');
        }
        line.push(letter);
    }
    line.push('\n');
    line
}

fn first_line(text: &[u8]) -> &[u8] {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.find(|line| !line.is_empty()).unwrap_or(b"no error message")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{first_line, ignore_line};

    #[test]
    fn a_folder_is_ignored_whatever_its_name() {
        assert_eq!(ignore_line(Path::new("a b/[k]*")), "\n/a\\ b/\\[k]\\*\n");
    }

    #[test]
    fn the_first_line_of_an_error_counts() {
        assert_eq!(first_line(b"\nfatal: no\nhint"), b"fatal: no");
        assert_eq!(first_line(b""), b"no error message");
    }
}
