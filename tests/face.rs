//! Rules about what stands between the face and the state: the use cases, whose results every face shows in its own words.

use std::{collections::BTreeMap, fs};

use crate::tidy::production;

/// What a command reads is a view or the result of a use case, which pages may show, too.
#[test]
fn the_face_does_not_know_the_state() {
    let sources = production().into_iter().filter(|(path, _)| path.starts_with("src/"));
    let wrong: Vec<String> =
        sources.filter(|(_, text)| text.contains("wf_store")).map(|(path, _)| path).collect();
    assert!(wrong.is_empty(), "they name `wf_store`: {wrong:?}");
    let manifest = fs::read_to_string("Cargo.toml").expect("the workspace has a manifest");
    let (_, rest) = manifest.split_once("\n[dependencies]\n").expect("the face has dependencies");
    let own = rest.split("\n[").next().unwrap_or_default();
    assert!(!own.contains("wf-store"), "the face depends on wf-store");
}

/// What names commands besides the command line: a crate or a file, how often, and why. A number may only fall.
const NAMES_COMMANDS: [(&str, usize, &str); 15] = [
    // Faces.
    ("crates/temporal/", 10, "a program of its own, whose messages name the commands that start it"),
    ("crates/web/", 6, "the pages for whoever has no login say how to get one, and what shows a broken file"),
    ("crates/mcp/", 4, "an agent is told which command a person can be asked to give"),
    ("crates/report/", 23, "the reports of a run, as the command line prints them"),
    // Texts that are recorded, or written into a file: another text would be another format.
    ("crates/app/src/goals/", 6, "reasons in the ledger of a goal, and in the files of broken goals"),
    ("crates/app/src/connections/goal.rs", 1, "a plan that is generated"),
    ("crates/app/src/skills/put.rs", 1, "the command that another process executes"),
    ("crates/app/src/git/trouble.rs", 1, "the program itself, which runs git"),
    ("crates/core/", 4, "reasons in events and in the ledger of a goal"),
    ("crates/engine/", 4, "reasons in events"),
    ("crates/lang/", 4, "the help of diagnostics, which is about files and the command for them"),
    ("crates/model/src/expr/foreign.rs", 1, "the help of a diagnostic"),
    ("crates/skill/src/inspect/issue.rs", 1, "the advice of an inspection"),
    ("crates/exec/", 7, "refusals of secrets, and reasons in events"),
    ("crates/store/src/projections/cache.rs", 1, "a reason in an event"),
];

/// A use case names what a person can do as a `UserAction`; `src/actions.rs` has the command for it.
#[test]
fn only_the_face_names_commands() {
    let args = fs::read_to_string("src/args.rs").expect("the command line has arguments");
    let variant = regex::Regex::new(r"(?m)^    ([A-Z]\w+)\(LazyArgs<").unwrap();
    let names: Vec<String> = variant.captures_iter(&args).map(|found| found[1].to_lowercase()).collect();
    let command = regex::Regex::new(&format!(r"\bwf (?:{})\b", names.join("|"))).unwrap();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in production().into_iter().filter(|(path, _)| path.starts_with("crates/")) {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let count = lines.map(|line| command.find_iter(line).count()).sum::<usize>();
        if count > 0 {
            let known = NAMES_COMMANDS.iter().find(|(start, ..)| path.starts_with(start));
            *found.entry(known.map_or(path, |(start, ..)| (*start).to_owned())).or_default() += count;
        }
    }
    let known = NAMES_COMMANDS.iter().map(|(start, count, _)| ((*start).to_owned(), *count)).collect();
    assert_eq!(found, known, "found, and listed: a number may only fall");
}

#[test]
fn each_act_has_a_command() {
    let remedies = fs::read_to_string("crates/base/src/remedy.rs").expect("there are remedies");
    let (_, acts) = remedies.split_once("pub enum UserAction {").expect("there are acts");
    let acts = acts.split("\n}\n").next().unwrap_or_default();
    let variant = regex::Regex::new(r"(?m)^    ([A-Z]\w+)").unwrap();
    let commands = fs::read_to_string("src/actions.rs").expect("acts have commands");
    for act in variant.captures_iter(acts) {
        let has_command = regex::Regex::new(&format!(r"\bAct::{}\b", &act[1])).unwrap().is_match(&commands);
        assert!(has_command, "{} has no command in src/actions.rs", &act[1]);
    }
}
