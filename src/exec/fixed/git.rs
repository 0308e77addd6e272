//! What git executes, or is told by, in a repository.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of a repository that a folder is in: the one whose parts count only, and the others.
/// Nothing if there is no repository: one that the work makes is the work's.
pub(super) fn files(folder: &Path, root: &Path) -> (Option<PathBuf>, Vec<PathBuf>) {
    let above = folder
        .ancestors()
        .take_while(|above| above.starts_with(root));
    let Some(top) = above.into_iter().find(|above| above.join(".git").exists()) else {
        return (None, Vec::new());
    };
    let mut files = vec![top.join(".gitattributes")];
    files.extend(
        folder
            .ancestors()
            .take_while(|f| *f != top)
            .map(|f| f.join(".gitattributes")),
    );
    let dir = match linked(&top.join(".git")) {
        Some(dir) => {
            files.push(top.join(".git"));
            dir
        }
        None => top.join(".git"),
    };
    files.extend([dir.join("config.worktree"), dir.join("info/attributes")]);
    let hooks = fs::read_dir(dir.join("hooks"))
        .into_iter()
        .flatten()
        .flatten();
    files.extend(hooks.map(|hook| hook.path()));
    (Some(dir.join("config")), files)
}

/// The folder that the work trees of a repository share, if `.git` is a file that leads there.
fn linked(git: &Path) -> Option<PathBuf> {
    if !git.is_file() {
        return None;
    }
    let text = fs::read_to_string(git).ok()?;
    let own = git.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(own.join("commondir")).ok();
    Some(common.map_or_else(|| own.clone(), |common| own.join(common.trim())))
}

/// The parts of a configuration that decide what git executes. Branches, remotes and the user's
/// name are not among them: ordinary work sets those.
pub(super) fn telling(config: &str) -> String {
    let mut plain = false;
    let mut told = String::new();
    for line in config.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            plain = is_plain_section(line);
        }
        if !plain && !line.is_empty() {
            told += line;
            told.push('\n');
        }
    }
    told
}

/// Whether a line begins a section that executes nothing, and nothing else.
fn is_plain_section(line: &str) -> bool {
    let named = |kind: &str| {
        let name = line
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_suffix("\"]"));
        name.is_some_and(|name| !name.contains(['"', '\\', ']']))
    };
    line == "[user]" || named("[branch \"") || named("[remote \"")
}
