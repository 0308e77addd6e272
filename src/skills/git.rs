use std::path::Path;
use std::process::{Command, Stdio};

use crate::{CliExitCode, CommandError};
use wf_base::untrusted::UntrustedText;
use wf_skill::disk::{LEFT_OUT, MAX_ALL, MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_SKILL_MD};
use wf_skill::{BundleFile, SkillBundle};

/// Fetches one commit of a repository and reads a folder of it. Nothing is checked out, so that no
/// hook, no filter and no link has an effect. Returns the commit, too.
pub(super) fn fetch(
    (url, rev, folder): (&str, Option<&str>, &str),
    cwd: &Path,
) -> Result<(SkillBundle, String), CommandError> {
    let dir = tempfile::tempdir()?;
    let at = dir.path();
    git(at, &["init", "--quiet", "--bare", "."])?;
    let url = if url.contains("://") { url.to_owned() } else { cwd.join(url).display().to_string() };
    let wanted = rev.unwrap_or("HEAD");
    let ask = [
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--",
        &url,
    ];
    let to = format!("+{wanted}:refs/heads/wanted");
    let mut ask: Vec<&str> = ask.to_vec();
    ask.push(&to);
    git(at, &ask)?;
    let commit =
        line(&git(at, &["rev-parse", "--verify", "--end-of-options", "refs/heads/wanted^{commit}"])?);
    let tree = format!("{commit}:{folder}");
    let listed = git(at, &["ls-tree", "-r", "-z", "-l", "--full-tree", &tree])?;
    let listed = String::from_utf8(listed).map_err(|_| git_error("a file name is not UTF-8"))?;
    let mut bundle = SkillBundle::default();
    let mut all = 0;
    for row in listed.split('\0').filter(|row| !row.is_empty()) {
        let (path, object, is_executable, size) = entry(row)?;
        if !is_part(&path)? {
            continue;
        }
        all += size;
        if bundle.files.len() >= MAX_FILES || all > MAX_ALL {
            return Err(git_error("the directory has too many files, or they are too large"));
        }
        let bytes = git(at, &["cat-file", "blob", &object])?;
        bundle.files.insert(path, BundleFile { bytes, is_executable });
    }
    Ok((bundle, commit))
}

/// True if a file is part of the skill, as it would be on disk; a path that is too deep is refused.
fn is_part(path: &str) -> Result<bool, CommandError> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    if folders.split('/').any(|part| LEFT_OUT.contains(&part)) {
        return Ok(false);
    }
    // The skill's own folder is the first.
    if path.split('/').count() > MAX_DEPTH {
        let message = format!("{} is nested more than {MAX_DEPTH} levels deep", path.escape_debug());
        return Err(git_error(message).hint("remove what the skill does not need"));
    }
    Ok(true)
}

/// `MODE TYPE OBJECT SIZE<tab>PATH`
fn entry(row: &str) -> Result<(String, String, bool, u64), CommandError> {
    let broken = || git_error("unexpected output of git when listing files");
    let (about, path) = row.split_once('\t').ok_or_else(broken)?;
    let words: Vec<&str> = about.split_whitespace().collect();
    let [mode, _, object, size] = words.as_slice() else {
        return Err(broken());
    };
    let shown = path.escape_debug();
    let is_executable = match *mode {
        "100644" | "100664" => false,
        "100755" => true,
        "120000" => {
            return Err(git_error(format!("{shown} is a link, which could lead out of the skill")));
        }
        _ => return Err(git_error(format!("{shown} is not a regular file"))),
    };
    if path.contains(char::is_control) || path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"))
    {
        return Err(git_error(format!("{shown} is not a valid path in a skill")));
    }
    let size: u64 = size.parse().map_err(|_| broken())?;
    let most = if path == "SKILL.md" { MAX_SKILL_MD } else { MAX_FILE };
    if size > most {
        return Err(git_error(format!("{shown} is larger than {} MiB", most >> 20)));
    }
    Ok((path.to_owned(), (*object).to_owned(), is_executable, size))
}

fn git_error(message: impl Into<String>) -> CommandError {
    CommandError::new(CliExitCode::Usage, message)
}

/// The output of git. It prompts for nothing, executes no hook, and uses no protocol that executes.
fn git(dir: &Path, args: &[&str]) -> Result<Vec<u8>, CommandError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "git only fetches and answers: it is awaited here, and no run is about"
    )]
    let mut git = Command::new("git");
    git.args(["-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0"]);
    git.arg("-C").arg(dir).args(args);
    for (name, value) in [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ALLOW_PROTOCOL", "https:ssh:file"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_ASKPASS", "true"),
        ("LC_ALL", "C"),
    ] {
        git.env(name, value);
    }
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_TEMPLATE_DIR"] {
        git.env_remove(name);
    }
    let output = git.stdin(Stdio::null()).output();
    let output = output.map_err(|error| git_error(format!("cannot start git: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty());
    let said = UntrustedText::printed(said.unwrap_or("no error message").as_bytes()).to_string();
    let verb = args.first().copied().unwrap_or_default();
    Err(git_error(format!("git {verb} failed: {}", said.trim())).hint("check the URL, and the part after #"))
}

fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
