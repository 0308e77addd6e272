use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::{Exit, Failure};
use crate::skill::disk::{LEFT_OUT, MAX_ALL, MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_SKILL_MD};
use crate::skill::{Bundle, BundleFile};
use crate::untrusted::Untrusted;

/// Fetches one commit of a repository and reads a folder of it. Nothing is checked out, so that no
/// hook, no filter and no link has a say. Gives the commit, too.
pub(super) fn fetch(
    (url, rev, folder): (&str, Option<&str>, &str),
    cwd: &Path,
) -> Result<(Bundle, String), Failure> {
    let dir = tempfile::tempdir()?;
    let at = dir.path();
    git(at, &["init", "--quiet", "--bare", "."])?;
    let url = if url.contains("://") {
        url.to_owned()
    } else {
        cwd.join(url).display().to_string()
    };
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
    let commit = line(&git(
        at,
        &[
            "rev-parse",
            "--verify",
            "--end-of-options",
            "refs/heads/wanted^{commit}",
        ],
    )?);
    let tree = format!("{commit}:{folder}");
    let listed = git(at, &["ls-tree", "-r", "-z", "-l", "--full-tree", &tree])?;
    let listed = String::from_utf8(listed).map_err(|_| wrong("the name of a file is not UTF-8"))?;
    let mut bundle = Bundle::default();
    let mut all = 0;
    for row in listed.split('\0').filter(|row| !row.is_empty()) {
        let (path, object, is_executable, size) = entry(row)?;
        if !is_part(&path)? {
            continue;
        }
        all += size;
        if bundle.files.len() >= MAX_FILES || all > MAX_ALL {
            return Err(wrong(
                "the folder has too many files, or they are too large",
            ));
        }
        let bytes = git(at, &["cat-file", "blob", &object])?;
        bundle.files.insert(
            path,
            BundleFile {
                bytes,
                is_executable,
            },
        );
    }
    Ok((bundle, commit))
}

/// Whether a file is part of the skill, as it would be on the disk; too deep a one is refused.
fn is_part(path: &str) -> Result<bool, Failure> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    if folders.split('/').any(|part| LEFT_OUT.contains(&part)) {
        return Ok(false);
    }
    // The skill's own folder is the first.
    if path.split('/').count() > MAX_DEPTH {
        let message = format!("{} is more than {MAX_DEPTH} deep", path.escape_debug());
        return Err(wrong(message).hint("take out what the skill does not need"));
    }
    Ok(true)
}

/// `MODE TYPE OBJECT SIZE<tab>PATH`
fn entry(row: &str) -> Result<(String, String, bool, u64), Failure> {
    let broken = || wrong("git lists a file in a way that is not understood");
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
            return Err(wrong(format!(
                "{shown} is a link, which could lead out of the skill"
            )));
        }
        _ => return Err(wrong(format!("{shown} is no file"))),
    };
    if path.contains(char::is_control)
        || path
            .split('/')
            .any(|part| matches!(part, "" | "." | ".." | ".git"))
    {
        return Err(wrong(format!("{shown} is no path that a skill may have")));
    }
    let size: u64 = size.parse().map_err(|_| broken())?;
    let most = if path == "SKILL.md" {
        MAX_SKILL_MD
    } else {
        MAX_FILE
    };
    if size > most {
        return Err(wrong(format!("{shown} is larger than {} MiB", most >> 20)));
    }
    Ok((path.to_owned(), (*object).to_owned(), is_executable, size))
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, message)
}

/// What git answers. It asks nobody, executes no hook, and speaks no protocol that executes.
fn git(dir: &Path, args: &[&str]) -> Result<Vec<u8>, Failure> {
    #[expect(
        clippy::disallowed_methods,
        reason = "git only fetches and answers: it is awaited here, and no run is about"
    )]
    let mut git = Command::new("git");
    git.args([
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "protocol.ext.allow=never",
        "-c",
        "gc.auto=0",
    ]);
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
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_TEMPLATE_DIR",
    ] {
        git.env_remove(name);
    }
    let output = git.stdin(Stdio::null()).output();
    let output = output.map_err(|error| wrong(format!("git cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| !line.trim().is_empty());
    let said = Untrusted::printed(said.unwrap_or("it says not why").as_bytes()).to_string();
    let verb = args.first().copied().unwrap_or_default();
    Err(wrong(format!("git {verb} failed: {}", said.trim()))
        .hint("look at the address, and at what follows #"))
}

fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
