//! The paths the text of a check names.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use wf_model::{Check, CheckProbe};

use crate::processes::environment::KnownValues;

/// The longest name of a file, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Returns the paths a check names literally, relative to the workspace. The targets of variables and patterns are not
/// included.
pub(crate) fn paths(check: &Check) -> BTreeSet<PathBuf> {
    let texts: Vec<String> = match &check.probe {
        None => Vec::new(),
        Some(CheckProbe::Run(script)) => vec![script.text.clone()],
        Some(CheckProbe::Exec(words)) => {
            let values = KnownValues::of_params(None);
            words.iter().filter_map(|word| word.render(&values).ok()).collect()
        }
    };
    let cwd = check.cwd.clone().unwrap_or_default();
    let paths = texts.iter().flat_map(|text| in_text(text, Path::new(&cwd)));
    // An argument is one word, whatever is in it.
    let is_exec = matches!(check.probe, Some(CheckProbe::Exec(_)));
    let whole = texts.iter().filter(|_| is_exec).filter_map(|word| below(&Path::new(&cwd).join(word)));
    paths.chain(whole.filter(|path| path.parent().is_some())).collect()
}

/// Returns the paths a check may start or load by what it names: those of [`paths`], those below a folder its script
/// changes to, and the files of modules and folders an interpreter starts. Most of them do not exist.
pub(crate) fn relied_paths(check: &Check) -> BTreeSet<PathBuf> {
    let mut paths_named = paths(check);
    if let Some(CheckProbe::Run(script)) = &check.probe {
        let cwd = check.cwd.clone().unwrap_or_default();
        let words = shell_words(&script.text);
        for pair in words.windows(2).filter(|pair| pair[0] == "cd") {
            paths_named.extend(in_text(&script.text, &Path::new(&cwd).join(&pair[1])));
        }
    }
    let of_modules: Vec<PathBuf> = paths_named.iter().flat_map(|path| files_of_module(path)).collect();
    paths_named.extend(of_modules);
    paths_named
}

/// Returns the files an interpreter starts for a module or a folder, given by the path or by the name.
fn files_of_module(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let module = path.with_file_name(name.replace('.', "/"));
    [
        path.join("__main__.py"),
        module.join("__main__.py"),
        module.join("__init__.py"),
        module.with_extension("py"),
    ]
    .into()
}

/// Returns the paths named in a text run in a folder, both relative to the workspace.
pub(crate) fn in_text(text: &str, cwd: &Path) -> Vec<PathBuf> {
    let words_of_text = words(text).into_iter().chain(shell_words(text));
    let paths = words_of_text.filter_map(|word| below(&cwd.join(word)));
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

/// Splits a text into the words a shell reads, without their quotes. Patterns are left out, and words with a variable
/// other than the folder where it runs.
fn shell_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('"') | None, '\\') => word.extend(letters.next()),
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) if letter.is_whitespace() || ";|&<>()`".contains(letter) => {
                words.push(std::mem::take(&mut word));
            }
            _ => word.push(letter),
        }
    }
    words.push(word);
    for word in &mut words {
        if let Some(rest) = word.strip_prefix("$PWD/").or(word.strip_prefix("${PWD}/")) {
            *word = rest.to_owned();
        }
    }
    words.retain(|word| !word.is_empty() && !word.contains(['*', '?', '[', '$']));
    words
}

/// Returns a path without `.` and `..` if it stays in the workspace.
fn below(path: &Path) -> Option<PathBuf> {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            // No file has a longer name.
            Component::Normal(name) if name.len() > MAX_NAME_BYTES => return None,
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !parts.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts)
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
    fn other_spellings_name_the_same_file() {
        for text in [
            "sh sub/\"judge\".sh",
            "sh pkg/../sub/judge.sh",
            "sh $PWD/sub/judge.sh",
            "sh ./sub//judge.sh",
            "sh sub/jud\\ge.sh",
        ] {
            assert!(named(None, text).contains(&"sub/judge.sh".to_owned()), "{text}");
        }
        assert!(named(None, "sh 'ju dge.sh'").contains(&"ju dge.sh".to_owned()));
        let relied = |text: &str| {
            let shell = vec!["sh".into(), "-c".into()];
            let probe = Some(CheckProbe::Run(ShellScript { shell, text: text.into() }));
            relied_paths(&Check { probe, ..Check::new(Name::parse("it").unwrap()) })
        };
        assert!(relied("cd sub && sh judge.sh").contains(Path::new("sub/judge.sh")));
        for text in ["python3 pkg", "python3 -m pkg"] {
            assert!(relied(text).contains(Path::new("pkg/__main__.py")), "{text}");
        }
        assert!(relied("python3 -m unittest tests.test_a").contains(Path::new("tests/test_a.py")));
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
