//! The words of a verdict about undeclared files: which they are, and the line declaring them.

use std::path::{Path, PathBuf};

use wf_core::machine::HIDDEN_LIMIT;

use super::{
    WorkspaceSnapshot,
    declarations::{harness, writers::StepWriters},
};

/// The maximum number of paths in a message.
const MAX_NAMED_PATHS: usize = 3;

/// The maximum number of paths in a line to paste.
const MAX_PASTED_PATHS: usize = 8;

/// The remedy for unapproved files keeping a step from beginning.
pub(super) const REMEDY_OF_NEW: &str = "remove it, have it approved (in a git repository: add it first), \
    list it in `writes` of the step that creates it, or confine this step with `allow`, which hides it";

/// The remedy for a workspace differing from the approved one.
pub(super) const REMEDY_OF_APPROVED: &str = "restore it, or approve the plan again; a step must list what \
    it creates in `writes` or in `artifacts`";

/// The remedy for changed files of a repository, which are nobody's product.
const REMEDY_OF_GIT: &str = "git's own files are no product of a step: if a person or another program used git \
    meanwhile, run it again or use `wf retry`";

/// The remedy for files controlling `wf`: they are never opened to a step.
const REMEDY_OF_CONTROL: &str = "it controls wf, and is no product of a step: put it back as it was, or, if a person changed it, \
    start a new `wf run`";

/// The remedy for files others may have changed.
const REMEDY_OF_OTHERS: &str = "if something beside the run changed it (an editor, another run), a new `wf run` takes it \
    as it is, and `wf run --worktree` does not meet it";

/// The remedy for files in reach of a step without declared products.
const REMEDY_OF_GRANTS: &str = "nobody can say who changes a file that a step may write: a step that lists in `writes` what it makes is \
    not taken to have changed others";

/// True for a file of a repository, of a submodule too.
fn is_of_git(path: &Path) -> bool {
    path.iter().any(|part| part == ".git")
}

/// Returns a message about undeclared files, with the remedy.
pub(super) fn undeclared(verb: &str, found: &[PathBuf], writers: &StepWriters) -> String {
    let paths = paths_summary(found);
    let products: Vec<PathBuf> = found.iter().filter(|path| !is_of_git(path)).cloned().collect();
    let remedy = if products.is_empty() { REMEDY_OF_GIT.to_owned() } else { remedy_of(&products, writers) };
    format!("{verb}, not declared: {paths}; {remedy}")
}

/// Returns a message about undeclared files that were changed: by a step, or, where no text of a step names one of them, by
/// something beside the run.
pub(super) fn changed(paths: &[PathBuf], writers: &StepWriters) -> String {
    let message = undeclared("changed", paths, writers);
    let is_open = |path: &PathBuf| !is_of_git(path) && !writers.is_control(path) && !writers.is_named(path);
    if !paths.iter().any(is_open) {
        return message;
    }
    let is_vague = paths.iter().any(|path| is_open(path) && writers.has_vague_grant(path));
    let grants = if is_vague { format!("; {REMEDY_OF_GRANTS}") } else { String::new() };
    format!("{message}; {REMEDY_OF_OTHERS}{grants}")
}

/// Returns a remark for a verdict that is no pass: which files the check did not see as the work left them. `has_git_moved`:
/// git's folders outside of the workspace are not as it saw them.
pub(super) fn remark(snapshot: &WorkspaceSnapshot, writers: &StepWriters, has_git_moved: bool) -> String {
    let mut remark = String::new();
    let hidden: Vec<PathBuf> = snapshot.hidden.iter().filter(|path| !is_of_git(path)).cloned().collect();
    if !hidden.is_empty() {
        let paths = paths_summary(&hidden);
        remark += &format!(
            "; it does not see {paths}, which is new and not declared: {}",
            remedy_of(&hidden, writers)
        );
    }
    let restored: Vec<PathBuf> = snapshot.restored.iter().filter(|path| !is_of_git(path)).cloned().collect();
    if !restored.is_empty() {
        remark += &format!(
            "; it sees {} as it was when the run began: something changed it since, and no step declares it: {}",
            paths_summary(&restored),
            remedy_of(&restored, writers)
        );
    }
    if has_git_moved || snapshot.originals.iter().any(|original| is_of_git(&original.path)) {
        remark += "; git says to it what it said when the run began: what a step commits, a check sees if the step has \
            `writes: [\".git/**\"]`";
    }
    if !snapshot.copies.is_empty() {
        let copies: Vec<PathBuf> = snapshot.copies.iter().map(|copy| copy.path.clone()).collect();
        remark += &format!(
            "; it sees {} as it was when the run began, since the check names it and `writes` does not: if it is what is \
             checked, let the step name it: `{}`",
            paths_summary(&copies),
            paste_line("writes", &copies)
        );
    }
    remark
}

/// Returns what declares some files as products, with the line to paste; of those controlling `wf`, and those judging
/// the work by convention, what puts them back.
fn remedy_of(paths: &[PathBuf], writers: &StepWriters) -> String {
    let (control, rest): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.iter().cloned().partition(|path| writers.is_control(path));
    let (judges, others): (Vec<PathBuf>, Vec<PathBuf>) =
        rest.into_iter().partition(|path| harness::reason_of(path).is_some());
    let mut remedies = Vec::new();
    if !control.is_empty() {
        remedies.push(format!("{}: {REMEDY_OF_CONTROL}", paths_summary(&control)));
    }
    if !others.is_empty() {
        remedies.push(format!(
            "if a step is to make it, let the step say so: `{}`",
            paste_line("writes", &others)
        ));
    }
    if let Some(reason) = judges.first().and_then(|path| harness::reason_of(path)) {
        remedies.push(format!(
            "{} judges the work ({reason}): put it back as it was, or remove it if it is new; only a step that is to change \
             what judges it names it in `writes`",
            paths_summary(&judges)
        ));
    }
    remedies.join("; ")
}

/// Returns the line of a key listing files.
pub fn paste_line(key: &str, paths: &[PathBuf]) -> String {
    let first = paths.iter().take(MAX_PASTED_PATHS);
    let mut words: Vec<String> = first.map(|path| word(&path.display().to_string())).collect();
    if paths.len() > MAX_PASTED_PATHS {
        words.push("…".to_owned());
    }
    format!("{key}: [{}]", words.join(", "))
}

/// Returns a path as an element of a list in YAML; one with special letters as a pattern matching it alone.
fn word(path: &str) -> String {
    let glob = globset::escape(path);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if glob.chars().all(is_plain) && !glob.starts_with('-') {
        glob
    } else {
        serde_json::Value::from(glob).to_string()
    }
}

/// Lists the first of some paths for a verdict, but for those of git.
pub(crate) fn first_paths(paths: &[PathBuf]) -> Vec<String> {
    let first = paths.iter().filter(|path| !is_of_git(path)).take(HIDDEN_LIMIT);
    first.map(|path| path.display().to_string()).collect()
}

/// Lists the first of some paths and the number of others.
pub(super) fn paths_summary(paths: &[PathBuf]) -> String {
    let first = paths.iter().take(MAX_NAMED_PATHS);
    let shown: Vec<String> = first.map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(MAX_NAMED_PATHS) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::paste_line;

    #[test]
    fn the_line_is_yaml_and_matches_these_files() {
        let line =
            |paths: &[&str]| paste_line("writes", &paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(line(&["calc.py", "src/a-b_c.rs"]), "writes: [calc.py, src/a-b_c.rs]");
        assert_eq!(line(&["a b", "c,d", "x[1]"]), r#"writes: ["a b", "c,d", "x[[]1[]]"]"#);
        assert_eq!(line(&["a"; 9]), "writes: [a, a, a, a, a, a, a, a, …]");
    }
}
