//! The paths that the text of a check names.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::environment::KnownValues;
use wf_model::{Check, CheckProbe};

/// Returns the paths that a check names literally, relative to the workspace. The targets of
/// variables and patterns are not included.
pub(crate) fn paths(check: &Check) -> BTreeSet<PathBuf> {
    let texts: Vec<String> = match &check.probe {
        None => Vec::new(),
        Some(CheckProbe::Run(script)) => vec![script.text.clone()],
        Some(CheckProbe::Exec(words)) => {
            let known = KnownValues::of_params(None);
            words.iter().filter_map(|word| word.render(&known).ok()).collect()
        }
    };
    let cwd = check.cwd.clone().unwrap_or_default();
    let paths = texts.iter().flat_map(|text| in_text(text, Path::new(&cwd)));
    paths.collect()
}

/// Returns the paths named in a text that is run in a folder, both relative to the workspace.
pub(crate) fn in_text(text: &str, cwd: &Path) -> Vec<PathBuf> {
    let paths = words(text).into_iter();
    let paths = paths.filter_map(|word| below(&cwd.join(word)));
    paths.filter(|path| path.parent().is_some()).collect()
}

/// Splits a text at the characters that separate words in shells.
fn words(text: &str) -> Vec<String> {
    let separates = |letter: char| letter.is_whitespace() || "\"'`;|&<>()$={},:".contains(letter);
    let is_pattern = |word: &&str| word.contains(['*', '?', '[']);
    let words = text.split(separates).filter(|word| !word.is_empty());
    let words = words.filter(|word| !is_pattern(word));
    words.map(str::to_owned).collect()
}

/// Returns a path without `.` if it stays in the workspace.
fn below(path: &Path) -> Option<PathBuf> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let parts: Option<PathBuf> = parts
        .map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use wf_base::name::Name;
    use wf_model::ShellScript;

    fn named(cwd: Option<&str>, text: &str) -> Vec<String> {
        let shell = vec!["sh".into(), "-c".into()];
        let check = Check {
            cwd: cwd.map(str::to_owned),
            probe: Some(CheckProbe::Run(ShellScript { shell, text: text.into() })),
            ..Check::new(Name::parse("it").unwrap())
        };
        let paths = paths(&check).into_iter();
        paths.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_path_is_named_as_it_stands() {
        let text = "test -s ./out/a.txt && grep -q x \"b c.txt\" --in=d.json <e>f | g $(h/i)";
        let found = named(None, text);
        for path in ["out/a.txt", "d.json", "e", "f", "g", "h/i"] {
            assert!(found.iter().any(|one| one == path), "{path}: {found:?}");
        }
        for path in ["out", "h", "/etc/passwd", "$OUT"] {
            assert!(found.iter().all(|one| one != path), "{path}: {found:?}");
        }
        assert_eq!(named(Some("sub"), "x"), ["sub/x"]);
        assert!(named(None, "../x ./ . /x").is_empty());
    }
}
