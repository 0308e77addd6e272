use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{CliExitCode, CommandError, Workspace, normalize_path};
use wf_app::CONFIG;
use wf_base::digest::Sha256Digest;
use wf_lang::{FileReadError, MAX_FILE, SpecFileSource};

/// The number of versions of a file that are examined.
const MAX_VERSIONS: u32 = 200;

/// The files of a workspace as they are in a revision of its git repository.
#[derive(Debug)]
pub struct GitRevision {
    /// The top level of the repository.
    repository_root: PathBuf,
    /// The name given by the user.
    name: String,
    /// The commit, as git names it.
    commit: String,
    /// The workspace, relative to the top level; empty: the top level itself.
    workspace_prefix: String,
}

/// A file of a revision, as git lists it.
struct GitTreeEntry {
    mode: String,
    kind: String,
    object: String,
    size: Option<u64>,
}

impl GitRevision {
    /// Finds a revision by any name that git has for it, in the repository of a folder.
    pub fn find(dir: &Path, name: &str) -> Result<Self, CommandError> {
        let top = git_output(dir, &["rev-parse", "--show-toplevel"]).ok_or_else(|| {
            let message = format!("{} is not in a git repository", dir.display());
            CommandError::new(CliExitCode::Usage, message)
                .hint("name files instead of a revision, or run `git init`")
        })?;
        let asked = format!("{name}^{{commit}}");
        let ask = ["rev-parse", "--verify", "--quiet", "--end-of-options", &asked];
        let commit = git_output(dir, &ask).ok_or_else(|| {
            let message = format!("unknown revision or file `{name}`");
            CommandError::new(CliExitCode::Usage, message).hint("`git log --oneline` lists revisions")
        })?;
        Ok(Self {
            repository_root: PathBuf::from(git_line(&top)),
            name: name.to_owned(),
            commit: git_line(&commit),
            workspace_prefix: String::new(),
        })
    }

    /// Finds a revision of the files of a workspace.
    pub fn of(workspace: &Workspace, name: &str) -> Result<Self, CommandError> {
        let mut found = Self::find(&workspace.root, name)?;
        let root = workspace.root.canonicalize();
        let root = root.unwrap_or_else(|_| workspace.root.clone());
        let below = root.strip_prefix(&found.repository_root).ok().and_then(Path::to_str);
        below.unwrap_or("").clone_into(&mut found.workspace_prefix);
        Ok(found)
    }

    /// The folder in which the repository keeps its branches.
    pub fn git_dir(&self) -> PathBuf {
        let asked = git_output(&self.repository_root, &["rev-parse", "--git-common-dir"]);
        let dir = asked.map_or_else(|| ".git".to_owned(), |dir| git_line(&dir));
        self.repository_root.join(dir)
    }

    /// The commit, as git names it.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The paths of the Markdown files below some folders of the workspace.
    pub fn specs(&self, folders: &[&str]) -> Vec<String> {
        let mut ask = vec!["ls-tree", "-r", "-z", "--name-only", "--full-tree", &self.commit, "--"];
        let whole: Vec<String> = folders
            .iter()
            .map(|folder| {
                normalize_path(&Path::new(&self.workspace_prefix).join(folder)).display().to_string()
            })
            .collect();
        ask.extend(whole.iter().map(String::as_str));
        let listed = git_output(&self.repository_root, &ask).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let inner = |path: &str| {
            let inner = Path::new(path).strip_prefix(&self.workspace_prefix).ok()?;
            inner.to_str().map(str::to_owned)
        };
        let specs =
            listed.split('\0').filter(|path| Path::new(path).extension().is_some_and(|end| end == "md"));
        specs.filter_map(inner).collect()
    }

    /// Selects a file by its path, relative to the top level, or to a folder where it begins with
    /// `./` or `../`: finds the workspace that it was in then. Returns the path within that.
    pub fn select_file(&mut self, path: &str, dir: &Path) -> Result<String, CommandError> {
        let is_near = path.starts_with("./") || path.starts_with("../");
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let whole = if is_near { dir.join(path) } else { self.repository_root.join(path) };
        let whole = normalize_path(&whole);
        let inside = whole.strip_prefix(&self.repository_root).ok();
        let Some(inside) = inside.and_then(Path::to_str) else {
            let message = format!("{path} is outside of the repository");
            return Err(CommandError::new(CliExitCode::Usage, message));
        };
        if self.list(inside).is_none() {
            let message = format!("{inside} not found in {}", self.name);
            let hint = "a path after `:` is relative to the top level of the repository, as in git; prefix it with ./ for the current directory";
            return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        }
        let folders = Path::new(inside).ancestors().skip(1);
        let root = folders.filter_map(Path::to_str).find(|folder| {
            let config = Path::new(folder).join(CONFIG);
            config.to_str().is_some_and(|config| self.list(config).is_some())
        });
        root.unwrap_or("").clone_into(&mut self.workspace_prefix);
        let inner = Path::new(inside).strip_prefix(&self.workspace_prefix).ok();
        Ok(inner.and_then(Path::to_str).unwrap_or(inside).to_owned())
    }

    /// The workspace at its path on disk.
    pub fn workspace(&self) -> Workspace {
        let root = self.repository_root.join(&self.workspace_prefix);
        Workspace { state: root.join(".wf"), root }
    }

    fn list(&self, path: &str) -> Option<GitTreeEntry> {
        let ask = ["ls-tree", "--full-tree", "-l", "-z", &self.commit, "--", path];
        let text = String::from_utf8(git_output(&self.repository_root, &ask)?).ok()?;
        let (about, _) = text.split('\0').next()?.split_once('\t')?;
        let mut words = about.split_whitespace();
        let mut word = || words.next().map(str::to_owned);
        Some(GitTreeEntry { mode: word()?, kind: word()?, object: word()?, size: word()?.parse().ok() })
    }
}

impl SpecFileSource for GitRevision {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileReadError> {
        let whole = normalize_path(&Path::new(&self.workspace_prefix).join(path));
        let whole = whole.to_str().ok_or(FileReadError::Missing)?;
        let listed = self.list(whole).ok_or(FileReadError::Missing)?;
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
        let bytes = git_output(&self.repository_root, &["cat-file", "blob", &listed.object]);
        bytes.ok_or_else(|| FileReadError::Refused("git cannot read it".into()))
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let folder = normalize_path(&Path::new(&self.workspace_prefix).join(folder));
        let Some(folder) = folder.to_str() else {
            return Vec::new();
        };
        let tree = format!("{}:{folder}", self.commit);
        let listed = git_output(&self.repository_root, &["ls-tree", "-z", &tree]).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let files = listed.split('\0').filter_map(|row| row.split_once('\t'));
        let files = files.filter(|(about, _)| about.contains(" blob "));
        files.map(|(_, name)| name.to_owned()).collect()
    }

    /// Links of a revision are not followed.
    fn leads_out(&self, _: &str) -> bool {
        false
    }
}

/// A file of a workspace as it once was in its git repository, by the digest of its content.
pub fn past_text(root: &Path, path: &str, digest: Sha256Digest) -> Option<String> {
    let limit = format!("--max-count={MAX_VERSIONS}");
    let commits = git_output(root, &["rev-list", &limit, "--all", "--", path])?;
    let commits = String::from_utf8(commits).ok()?;
    commits.lines().find_map(|commit| {
        let bytes = git_output(root, &["cat-file", "blob", &format!("{commit}:./{path}")])?;
        let is_it = Sha256Digest::of_bytes(&bytes) == digest;
        String::from_utf8(bytes).ok().filter(|_| is_it)
    })
}

/// The files of a workspace that its git repository tracks, relative to the workspace; `None`: it is in none.
pub fn tracked_files(root: &Path) -> Option<BTreeSet<PathBuf>> {
    let listed = git_output(root, &["ls-files", "-z", "--cached", "--recurse-submodules"])?;
    let paths = listed.split(|byte| *byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    Some(paths.map(|path| OsStr::from_bytes(path).into()).collect())
}

/// The output of git; nothing if it fails. Only objects are read, by commands that heed no setting
/// which names a program (`git log` would check signatures with one): write access to the
/// configuration of a repository must not suffice to have us execute anything.
fn git_output(dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "git only answers: it is awaited here, and no run is about"
    )]
    let mut git = Command::new("git");
    git.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    git.arg("-C").arg(dir).args(args);
    git.env("GIT_LITERAL_PATHSPECS", "1");
    git.env("GIT_OPTIONAL_LOCKS", "0");
    git.env("GIT_NO_LAZY_FETCH", "1");
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn git_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::{GitRevision, past_text};
    use wf_base::digest::Sha256Digest;

    /// Settings of a repository that name a program.
    const SETTINGS: [&str; 16] = [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.alternateRefsCommand",
        "credential.helper",
        "diff.external",
        "diff.all.textconv",
        "filter.all.smudge",
        "filter.all.clean",
        "gpg.program",
        "gpg.ssh.program",
        "merge.all.driver",
        "uploadpack.packObjectsHook",
        "pager.log",
    ];

    /// The output of git, fed with a text.
    fn git(dir: &Path, script: &str) -> String {
        #[expect(clippy::disallowed_methods, reason = "a test starts real programs")]
        let output = Command::new("sh")
            .args(["-ec", script])
            .current_dir(dir)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", dir)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A repository with a signed commit, and whose settings all name a program that leaves a trace.
    fn repository(dir: &Path) {
        let script = "git init -q -b main .; git config user.name it; git config user.email it@localhost
            echo '* filter=all diff=all merge=all' > .gitattributes; mkdir goals; echo one > goals/a.md; git add .; git commit -qm one
            { git cat-file commit HEAD | sed '/^$/,$d'; printf 'gpgsig -----BEGIN PGP SIGNATURE-----\\n x\\n -----END PGP SIGNATURE-----\\n\\nsigned\\n'; } > ../raw
            git update-ref HEAD \"$(git hash-object -t commit -w ../raw)\"
            printf '#!/bin/sh\\ntouch \"%s/trace\"\\n' \"$PWD\" > ../program; chmod +x ../program
            git config log.showSignature true; git config core.hooksPath \"$PWD/hooks\"";
        git(dir, script);
        for setting in SETTINGS {
            git(dir, &format!("git config {setting} \"$PWD/../program\""));
        }
        fs::write(dir.join("goals/a.md"), "two\n").unwrap();
    }

    #[test]
    fn no_setting_of_a_repository_has_anything_executed() {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path().join("repository");
        fs::create_dir(&dir).unwrap();
        repository(&dir);
        let trace = || fs::remove_file(dir.join("trace")).is_ok();
        for script in ["git log --all", "git status", "git diff"] {
            trace();
            git(&dir, script);
            assert!(trace(), "`{script}` shows nothing: it executes none of them");
        }
        let revision = GitRevision::find(&dir, "HEAD").unwrap();
        assert_eq!(revision.specs(&["goals"]), ["goals/a.md"]);
        revision.git_dir();
        assert!(super::tracked_files(&dir).unwrap().contains(Path::new("goals/a.md")));
        let was = past_text(&dir, "goals/a.md", Sha256Digest::of_bytes(b"one\n"));
        assert_eq!(was.as_deref(), Some("one\n"));
        assert!(!trace(), "a program of the repository's settings was executed");
    }
}
