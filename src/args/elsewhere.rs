//! The commands that work with a server elsewhere, and the options of each that do: what is not here is refused before anything
//! happens.

use clap::{ArgMatches, parser::ValueSource};

/// The options of a command that signs.
const SIGNS: [&str; 3] = ["yes", "key", "passphrase_file"];

/// The options of all commands that make sense with a server.
const GLOBAL: [&str; 6] = ["server", "server_key", "start_dir", "color", "quiet", "verbose"];

/// The commands with their options, by the names of their arguments.
const COMMANDS: [(&str, &[&str]); 12] = [
    ("list", &["json"]),
    ("runs", &["limit", "plan", "state_is", "all", "no_checks", "json"]),
    ("show", &["run", "last", "json", "artifact"]),
    ("logs", &["names", "last", "follow", "tail"]),
    ("inbox", &["json"]),
    ("run", &["plan", "param", "params", "json", "wait", "key", "passphrase_file"]),
    ("retry", &["run", "last", "json", "wait"]),
    ("resume", &["run", "last"]),
    ("cancel", &["run", "last"]),
    ("approve", &["names", "last", "reason", "choose", "text_file", "edit", "select"]),
    ("deny", &["names", "last", "reason"]),
    ("answer", &["names", "last", "text"]),
];

/// True if a command works with a server.
pub fn works_elsewhere(command: &str) -> bool {
    COMMANDS.iter().any(|(name, _)| *name == command)
}

/// Returns the reason why a command line does not work with the server that it names; `None`: it does, or it names none.
pub(super) fn refusal(matches: &ArgMatches) -> Option<String> {
    matches.get_one::<String>("server")?;
    let (name, given) = matches.subcommand()?;
    let Some((_, options)) = COMMANDS.iter().find(|(command, _)| *command == name) else {
        let names: Vec<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
        return Some(format!("`wf {name}` does not work with `--server`; these do: {}", names.join(", ")));
    };
    let is_answer = matches!(name, "approve" | "deny" | "answer");
    let works = |id: &str| options.contains(&id) || GLOBAL.contains(&id) || is_answer && SIGNS.contains(&id);
    let is_typed = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let ids = given.ids().map(clap::Id::as_str);
    // A group of arguments has an id, too, and no value of its own.
    let is_argument = |id: &&str| id.chars().next().is_some_and(char::is_lowercase);
    let wrong = ids.filter(is_argument).find(|id| is_typed(id) && !works(id))?;
    Some(format!("`--{}` of `wf {name}` does not work with `--server`", wrong.replace('_', "-")))
}
