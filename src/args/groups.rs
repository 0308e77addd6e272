//! The groups of commands in the help: by the intention of the user.

use std::{ffi::OsString, fmt::Write as _};

use clap::{Command, CommandFactory as _, Error, FromArgMatches as _, error::ErrorKind};

use super::{Cli, elsewhere};

/// The groups: a heading, and the commands in the order of the list.
pub(super) const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Run",
        &[
            "init",
            "check",
            "plan",
            "import",
            "run",
            "resume",
            "retry",
            "replay",
            "undo",
            "cancel",
            "suggestion",
        ],
    ),
    ("Look", &["list", "runs", "show", "logs", "watch", "why", "graph", "diff", "serve"]),
    ("Trust", &["inbox", "approve", "deny", "answer", "verify", "attest", "key", "gate", "audit"]),
    ("Goals", &["goal", "daemon", "queue"]),
    ("Agents", &["skill", "mcp", "memory", "session", "connection"]),
    ("State", &["backup", "restore", "doctor", "schema", "completions", "help"]),
];

/// The description of clap's own command.
const HELP: &str = "Print this message or the help of the given subcommand(s)";

/// Reads a command line.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, Error> {
    let mut command = grouped(Cli::command());
    let mut matches = command.try_get_matches_from_mut(args)?;
    if let Some(refusal) = elsewhere::refusal(&matches) {
        return Err(command.error(ErrorKind::ArgumentConflict, refusal));
    }
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Gives a command a help with its commands in groups.
fn grouped(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let name = *command.get_styles().get_literal();
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    let mut list = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(list, "{header}{heading}:{header:#}");
        for called in names {
            let about = command.find_subcommand(called).and_then(Command::get_about);
            let about = about.map_or_else(|| HELP.to_owned(), ToString::to_string);
            let room = " ".repeat(widest - called.len());
            let _ = writeln!(list, "  {name}{called}{name:#}{room}  {about}");
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}
