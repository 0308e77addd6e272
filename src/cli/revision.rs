use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::workspace::CONFIG;
use super::{Exit, Failure, Workspace, normal};
use crate::digest::Digest;
use crate::spec::{Files, MAX_FILE, Unreadable};

/// How many versions of a file are looked at.
const VERSIONS: u32 = 200;

/// The files of a workspace as they are in a revision of its git repository.
#[derive(Debug)]
pub struct Revision {
    /// The top level of the repository.
    top: PathBuf,
    /// What the person called it.
    name: String,
    /// The commit, as git names it.
    commit: String,
    /// The workspace, relative to the top level; empty: the top level itself.
    below: String,
}

/// A file of a revision, as git lists it.
struct Listed {
    mode: String,
    kind: String,
    object: String,
    size: Option<u64>,
}

impl Revision {
    /// Finds a revision by any name that git has for it, in the repository of a folder.
    pub fn find(dir: &Path, name: &str) -> Result<Self, Failure> {
        let top = git(dir, &["rev-parse", "--show-toplevel"]).ok_or_else(|| {
            let message = format!("{} is in no git repository", dir.display());
            Failure::new(Exit::Usage, message)
                .hint("name files instead of a revision, or begin with `git init`")
        })?;
        let asked = format!("{name}^{{commit}}");
        let ask = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &asked,
        ];
        let commit = git(dir, &ask).ok_or_else(|| {
            let message = format!("there is no revision or file `{name}`");
            Failure::new(Exit::Usage, message).hint("`git log --oneline` lists revisions")
        })?;
        Ok(Self {
            top: PathBuf::from(line(&top)),
            name: name.to_owned(),
            commit: line(&commit),
            below: String::new(),
        })
    }

    /// Finds a revision of the files of a workspace.
    pub fn of(workspace: &Workspace, name: &str) -> Result<Self, Failure> {
        let mut found = Self::find(&workspace.root, name)?;
        let root = workspace.root.canonicalize();
        let root = root.unwrap_or_else(|_| workspace.root.clone());
        let below = root.strip_prefix(&found.top).ok().and_then(Path::to_str);
        below.unwrap_or("").clone_into(&mut found.below);
        Ok(found)
    }

    /// Where the repository keeps its branches.
    pub fn git_dir(&self) -> PathBuf {
        let asked = git(&self.top, &["rev-parse", "--git-common-dir"]);
        let dir = asked.map_or_else(|| ".git".to_owned(), |dir| line(&dir));
        self.top.join(dir)
    }

    /// The commit, as git names it.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The paths of the Markdown files below some folders of the workspace.
    pub fn specs(&self, folders: &[&str]) -> Vec<String> {
        let mut ask = vec![
            "ls-tree",
            "-r",
            "-z",
            "--name-only",
            "--full-tree",
            &self.commit,
            "--",
        ];
        let whole: Vec<String> = folders
            .iter()
            .map(|folder| {
                normal(&Path::new(&self.below).join(folder))
                    .display()
                    .to_string()
            })
            .collect();
        ask.extend(whole.iter().map(String::as_str));
        let listed = git(&self.top, &ask).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let inner = |path: &str| {
            let inner = Path::new(path).strip_prefix(&self.below).ok()?;
            inner.to_str().map(str::to_owned)
        };
        let specs = listed
            .split('\0')
            .filter(|path| Path::new(path).extension().is_some_and(|end| end == "md"));
        specs.filter_map(inner).collect()
    }

    /// Takes up a file by its path, relative to the top level, or to a folder where it begins with
    /// `./` or `../`: finds the workspace that it was in then. Gives the path within that.
    pub fn enter(&mut self, path: &str, dir: &Path) -> Result<String, Failure> {
        let is_near = path.starts_with("./") || path.starts_with("../");
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let whole = if is_near {
            dir.join(path)
        } else {
            self.top.join(path)
        };
        let whole = normal(&whole);
        let inside = whole.strip_prefix(&self.top).ok();
        let Some(inside) = inside.and_then(Path::to_str) else {
            let message = format!("{path} lies outside the repository");
            return Err(Failure::new(Exit::Usage, message));
        };
        if self.list(inside).is_none() {
            let message = format!("there is no {inside} in {}", self.name);
            let hint = "a path after `:` begins at the top level of the repository, as in git; \
                        write ./ before it to begin here";
            return Err(Failure::new(Exit::Usage, message).hint(hint));
        }
        let folders = Path::new(inside).ancestors().skip(1);
        let root = folders.filter_map(Path::to_str).find(|folder| {
            let config = Path::new(folder).join(CONFIG);
            config
                .to_str()
                .is_some_and(|config| self.list(config).is_some())
        });
        root.unwrap_or("").clone_into(&mut self.below);
        let inner = Path::new(inside).strip_prefix(&self.below).ok();
        Ok(inner.and_then(Path::to_str).unwrap_or(inside).to_owned())
    }

    /// The workspace, where it would be on disk.
    pub fn workspace(&self) -> Workspace {
        let root = self.top.join(&self.below);
        Workspace {
            state: root.join(".wf"),
            root,
        }
    }

    fn list(&self, path: &str) -> Option<Listed> {
        let ask = [
            "ls-tree",
            "--full-tree",
            "-l",
            "-z",
            &self.commit,
            "--",
            path,
        ];
        let text = String::from_utf8(git(&self.top, &ask)?).ok()?;
        let (about, _) = text.split('\0').next()?.split_once('\t')?;
        let mut words = about.split_whitespace();
        let mut word = || words.next().map(str::to_owned);
        Some(Listed {
            mode: word()?,
            kind: word()?,
            object: word()?,
            size: word()?.parse().ok(),
        })
    }
}

impl Files for Revision {
    fn read(&self, path: &str) -> Result<Vec<u8>, Unreadable> {
        let whole = normal(&Path::new(&self.below).join(path));
        let whole = whole.to_str().ok_or(Unreadable::Missing)?;
        let listed = self.list(whole).ok_or(Unreadable::Missing)?;
        match (listed.kind.as_str(), listed.mode.as_str()) {
            ("tree", _) => return Err(Unreadable::Directory),
            ("blob", "120000") => {
                let why = "it is a link, and links of a revision are not followed";
                return Err(Unreadable::Refused(why.into()));
            }
            ("blob", _) => {}
            _ => return Err(Unreadable::Missing),
        }
        if listed.size.is_none_or(|size| size > MAX_FILE) {
            return Err(Unreadable::TooLarge);
        }
        let bytes = git(&self.top, &["cat-file", "blob", &listed.object]);
        bytes.ok_or_else(|| Unreadable::Refused("git does not give it".into()))
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let folder = normal(&Path::new(&self.below).join(folder));
        let Some(folder) = folder.to_str() else {
            return Vec::new();
        };
        let tree = format!("{}:{folder}", self.commit);
        let listed = git(&self.top, &["ls-tree", "-z", &tree]).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let files = listed.split('\0').filter_map(|row| row.split_once('\t'));
        let files = files.filter(|(about, _)| about.contains(" blob "));
        files.map(|(_, name)| name.to_owned()).collect()
    }

    /// Nothing of a revision is followed.
    fn leads_out(&self, _: &str) -> bool {
        false
    }
}

/// A file of a workspace as it once was in its git repository, by the digest of its content.
pub fn past_text(root: &Path, path: &str, digest: Digest) -> Option<String> {
    let limit = format!("--max-count={VERSIONS}");
    let commits = git(root, &["rev-list", &limit, "--all", "--", path])?;
    let commits = String::from_utf8(commits).ok()?;
    commits.lines().find_map(|commit| {
        let bytes = git(root, &["cat-file", "blob", &format!("{commit}:./{path}")])?;
        let is_it = Digest::of(&bytes) == digest;
        String::from_utf8(bytes).ok().filter(|_| is_it)
    })
}

/// The files of a workspace that its git repository tracks, relative to the workspace; `None`: it is in none.
pub fn tracked(root: &Path) -> Option<BTreeSet<PathBuf>> {
    let listed = git(
        root,
        &["ls-files", "-z", "--cached", "--recurse-submodules"],
    )?;
    let paths = listed.split(|byte| *byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    Some(paths.map(|path| OsStr::from_bytes(path).into()).collect())
}

/// What git answers; nothing if it refuses. It is asked only for objects, by commands that heed no
/// setting which names a program (`git log` would check signatures with one): whoever can write
/// the configuration of a repository must not have us execute anything.
fn git(dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
    #[expect(
        clippy::disallowed_methods,
        reason = "git only answers: it is awaited here, and no run is about"
    )]
    let mut git = Command::new("git");
    git.args([
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
    ]);
    git.arg("-C").arg(dir).args(args);
    git.env("GIT_LITERAL_PATHSPECS", "1");
    git.env("GIT_OPTIONAL_LOCKS", "0");
    git.env("GIT_NO_LAZY_FETCH", "1");
    let output = git
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::{Revision, past_text};
    use crate::digest::Digest;

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

    /// What git prints, fed with a text.
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
            assert!(
                trace(),
                "`{script}` shows nothing: it executes none of them"
            );
        }
        let revision = Revision::find(&dir, "HEAD").unwrap();
        assert_eq!(revision.specs(&["goals"]), ["goals/a.md"]);
        revision.git_dir();
        assert!(
            super::tracked(&dir)
                .unwrap()
                .contains(Path::new("goals/a.md"))
        );
        let was = past_text(&dir, "goals/a.md", Digest::of(b"one\n"));
        assert_eq!(was.as_deref(), Some("one\n"));
        assert!(
            !trace(),
            "a program of the repository's settings was executed"
        );
    }
}
