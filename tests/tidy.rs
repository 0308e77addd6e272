//! The house's own rules about its files.

use std::path::Path;

use crate::layers::sources;

/// The longest a source file may be, in lines.
const LONGEST: usize = 400;

#[test]
fn files_fit_in_a_readers_head() {
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for (path, text) in sources(Path::new(folder)) {
            let lines = text.lines().count();
            if lines > LONGEST {
                wrong.push(format!("{path}: {lines} lines, at most {LONGEST}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn module_roots_hold_only_documentation_and_re_exports() {
    let mut wrong = Vec::new();
    for (path, text) in sources(Path::new("src")) {
        if !path.ends_with("mod.rs") {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let item = ["fn ", "struct ", "enum ", "impl ", "trait "];
            let bare = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            if !line.trim_start().starts_with("//") && item.iter().any(|word| bare.starts_with(word)) {
                wrong.push(format!("{path}:{}: {line}", at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_says_what_it_is() {
    for (path, text) in sources(Path::new("src")) {
        if path.ends_with("mod.rs") && !path.contains("tests") {
            let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
            assert!(lines >= 2, "{path} does not say what it is and what it keeps");
        }
    }
}

#[test]
fn nothing_is_left_for_later_in_silence() {
    for folder in ["src", "tests"] {
        for (path, text) in sources(Path::new(folder)) {
            for mark in ["TODO", "FIXME", "XXX", "todo!(", "unimplemented!("] {
                let own = path.ends_with("tidy.rs");
                assert!(own || !text.contains(mark), "{path} has a {mark}");
            }
        }
    }
}

/// What writes to standard output and error: all others go through the guard of `Ui`.
const WRITERS: &[&str] = &[
    "src/cli/ui.rs",
    // Mistakes before there is a `Ui`, through the same guard.
    "src/cli/start.rs",
    // Observers that guard themselves: they draw over what they wrote, or write JSON and annotations.
    "src/cli/execute.rs",
    // They only ask where the streams lead.
    "src/cli/env.rs",
    "src/exec/manifest/walk.rs",
    // Whom the keeper speaks to is the engine.
    "src/exec/keeper/serve.rs",
];

#[test]
fn few_write_to_the_standard_streams() {
    let is_writer = |text: &str| {
        ["io::stdout()", "io::stderr()", "anstream::print", "anstream::eprint"]
            .iter()
            .any(|word| text.contains(word))
    };
    let found: Vec<String> = sources(Path::new("src"))
        .into_iter()
        .filter(|(path, text)| !path.contains("/tests") && is_writer(text))
        .map(|(path, _)| path)
        .collect();
    let more: Vec<&String> = found.iter().filter(|path| !WRITERS.contains(&path.as_str())).collect();
    assert!(more.is_empty(), "not through `Ui`: {more:?}");
    let fewer: Vec<&&str> = WRITERS.iter().filter(|own| !found.iter().any(|path| path == *own)).collect();
    assert!(fewer.is_empty(), "these need not be named: {fewer:?}");
}
