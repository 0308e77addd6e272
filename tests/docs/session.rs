//! Sessions shown in documents, repeated.

use regex::Regex;

use super::{documents, fence};
use crate::examples::workshop;
use crate::support::Sandbox;

#[test]
fn sessions_are_what_really_happens() {
    for (path, text) in documents() {
        let mut new = text.clone();
        let sessions = fence::all(&text).into_iter();
        let sessions: Vec<_> = sessions
            .filter(|fence| fence.language() == "console" && fence.has("run"))
            .collect();
        for session in sessions.iter().rev() {
            let sandbox = workshop();
            let real = repeat(&sandbox, &session.text);
            if std::env::var_os("WF_UPDATE").is_some() {
                new.replace_range(session.range.clone(), &real);
            } else {
                let (shown, real) = (comparable(&session.text), comparable(&real));
                assert_eq!(shown, real, "{path}:{}: WF_UPDATE=1 writes it anew", session.line);
            }
        }
        if new != text {
            std::fs::write(&path, new).expect("documents can be written");
        }
    }
}

#[test]
fn plans_shown_in_the_readme_are_those_of_the_examples() {
    let text = std::fs::read_to_string("README.md").expect("there is a README");
    for fence in fence::all(&text) {
        if let Some(path) = fence.info.iter().find_map(|word| word.strip_prefix("from:")) {
            let example = std::fs::read_to_string(path).expect("the example is there");
            assert_eq!(fence.text, example, "README.md:{} is not {path}", fence.line);
        }
    }
}

/// Gives every line that begins with `$ ` to a shell, one after the other, and shows what comes.
fn repeat(sandbox: &Sandbox, session: &str) -> String {
    let mut real = String::new();
    for line in session.lines() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let did = sandbox.shell(command);
        real.push_str(&format!("{line}\n{}", did.out));
    }
    real
}

/// A session without what differs from run to run: times, ids, and the order of what happens at
/// the same time.
fn comparable(session: &str) -> Vec<String> {
    let replace = |text: String, pattern: &str, with: &str| {
        let pattern = Regex::new(pattern).expect("the pattern is one");
        pattern.replace_all(&text, with).into_owned()
    };
    let mut lines: Vec<String> = session
        .lines()
        .map(|line| {
            let line = replace(line.to_owned(), r"\b[0-9a-f]{8}\b", "ID");
            let line = replace(line, r"\b[0-9]+(\.[0-9]+)?(ms|s)\b", "TIME");
            replace(line, r" +", " ").trim().to_owned()
        })
        .collect();
    lines.sort();
    lines
}
