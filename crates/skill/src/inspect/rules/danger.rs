use super::{
    lists::{is_everything, starts_later},
    look::FileInspection,
    program::ExecutedProgram,
};
use crate::inspect::{
    Rule,
    shell::{CommandWord, ShellCommand, UNKNOWN},
    tables::ProgramTable,
};

/// Programs that break a rule by their arguments.
static RULES: ProgramTable = ProgramTable::from_table(include_str!("../tables/programs/program_rules.txt"));

/// Programs that install packages.
static INSTALLERS: ProgramTable = ProgramTable::from_table(include_str!("../tables/programs/installers.txt"));

/// Programs writing to the paths in their arguments.
const WRITERS: [&str; 7] = ["tee", "cp", "mv", "ln", "install", "sed", "dd"];

/// Checks one program of a command.
pub(super) fn danger(inspection: &mut FileInspection<'_>, program: &ExecutedProgram<'_>, has_unset: bool) {
    let (name, at) = (program.name, program.at);
    for text in RULES.texts(program) {
        if let Some((code, reason)) = text.split_once(": ")
            && let Some(rule) = Rule::of(code)
        {
            inspection.report(rule, at, reason);
        }
    }
    match name {
        "chmod" => chmod(inspection, program),
        "rm" | "find" | "shred" => deletes(inspection, program, has_unset),
        "dd" if program
            .args
            .iter()
            .any(|arg| arg.text.starts_with("of=/dev/") && arg.text != "of=/dev/null") =>
        {
            inspection.report(Rule::DeleteAll, at, "it overwrites a device");
        }
        _ if name.starts_with("mkfs") => {
            inspection.report(Rule::DeleteAll, at, "it formats a file system");
        }
        "env" | "export" => {
            let mut sets = program.args.iter().filter_map(|arg| arg.text.split_once('='));
            if sets.any(|(name, value)| disables_verification(name, value)) {
                inspection.report(Rule::TlsOff, at, format!("`{name}` disables certificate verification"));
            }
        }
        _ => {}
    }
    later(inspection, program);
    if let Some(tool) = installs(program) {
        inspection.report(Rule::PackageInstall, at, format!("`{tool}` installs packages"));
    }
}

/// Checks the files a command writes to and reads from.
pub(super) fn files(inspection: &mut FileInspection<'_>, command: &ShellCommand) {
    for word in &command.writes {
        if starts_later(&word.text) {
            inspection.report(Rule::Persistence, word.at, "it writes where programs are started later");
        }
    }
    let touched = command.writes.iter().chain(&command.reads).chain(&command.words);
    for word in touched {
        inspection.path(&word.text, word.at);
        if word.text.contains("/dev/tcp/") || word.text.contains("/dev/udp/") {
            inspection.report(Rule::ReverseShell, word.at, "it opens a connection through /dev/tcp");
        }
    }
    for (name, value) in &command.sets {
        inspection.path(&value.text, value.at);
        if disables_verification(name, &value.text) {
            inspection.report(Rule::TlsOff, value.at, format!("{name} disables certificate verification"));
        }
    }
}

/// True if a variable disables the verification of certificates.
pub(super) fn disables_verification(name: &str, value: &str) -> bool {
    match name {
        "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" => value == "0",
        "GIT_SSL_NO_VERIFY" => !value.is_empty() && value != "0" && value != "false",
        _ => false,
    }
}

fn chmod(inspection: &mut FileInspection<'_>, program: &ExecutedProgram<'_>) {
    for arg in program.args {
        let text = arg.text.as_str();
        let is_number =
            (3..=5).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let signs = text.split(',').any(|part| {
            let who = part.split(['+', '=']).next().unwrap_or_default();
            let rights = part.get(who.len()..).unwrap_or_default();
            !rights.is_empty()
                && who.contains(['o', 'a'])
                && who.bytes().all(|byte| b"ugoa".contains(&byte))
                && rights.contains('w')
        });
        if (is_number && text.ends_with(['2', '3', '6', '7'])) || signs {
            inspection.report(
                Rule::WorldWritable,
                arg.at,
                format!("`chmod {text}` makes files writable for everyone"),
            );
        }
        let special = is_number
            && text.len() >= 4
            && text.trim_start_matches('0').len() == 4
            && text.trim_start_matches('0').starts_with(['2', '4', '6']);
        let letters = matches!(text, "+s" | "u+s" | "g+s" | "ug+s" | "a+s" | "u=s");
        if special || letters {
            inspection.report(
                Rule::Privilege,
                arg.at,
                format!("`chmod {text}` makes a program run with the permissions of its owner"),
            );
        }
    }
}

fn deletes(inspection: &mut FileInspection<'_>, program: &ExecutedProgram<'_>, has_unset: bool) {
    let is_all = match program.name {
        "find" => {
            program.has(&["-delete"])
                || program.args.array_windows().any(|[exec, name]| exec.text == "-exec" && name.text == "rm")
        }
        "rm" => program.short('r') || program.short('R') || program.has(&["--recursive"]),
        _ => true,
    };
    if !is_all {
        return;
    }
    let targets = program.args.iter().take_while(|arg| program.name != "find" || !arg.text.starts_with('-'));
    for arg in targets.filter(|arg| !arg.text.starts_with('-')) {
        let home = arg.variables.first().is_some_and(|var| var.name == "HOME");
        let rest = arg.text.strip_prefix(UNKNOWN);
        let is_home = home && rest.is_some_and(|rest| matches!(rest, "" | "/" | "/*" | "/." | "/.*"));
        if is_everything(&arg.text) || is_home {
            inspection.report(
                Rule::DeleteAll,
                arg.at,
                "it deletes everything under the root or the home folder",
            );
        } else if has_unset && changes_if_unset(inspection, arg) {
            inspection.report(
                Rule::DeleteAll,
                arg.at,
                "if the variable is not set, it deletes everything under the root",
            );
        }
    }
}

/// True if a path becomes another one if its variable is not set.
fn changes_if_unset(inspection: &FileInspection<'_>, word: &CommandWord) -> bool {
    let rest = word.text.strip_prefix(UNKNOWN).filter(|rest| rest.starts_with('/'));
    let (Some(rest), Some(var)) = (rest, word.variables.first()) else {
        return false;
    };
    let is_given =
        inspection.permissions.env.contains(&var.name) || matches!(var.name.as_str(), "HOME" | "PWD");
    let everything = matches!(rest, "/" | "/*" | "/." | "/.*");
    !var.is_guarded && !word.has_command && (!is_given || everything)
}

fn later(inspection: &mut FileInspection<'_>, program: &ExecutedProgram<'_>) {
    let edits = program.name != "sed" || program.short('i') || program.has(&["--in-place"]);
    if WRITERS.contains(&program.name) && edits {
        let last = match program.name {
            "tee" | "sed" => program.args,
            _ => program.args.last().map_or(&[][..], std::slice::from_ref),
        };
        for arg in last.iter().filter(|arg| starts_later(&arg.text)) {
            inspection.report(Rule::Persistence, arg.at, "it writes where programs are started later");
        }
    }
}

/// Returns the command by which a program installs packages, if it does.
pub(in crate::inspect) fn installs(program: &ExecutedProgram<'_>) -> Option<String> {
    if program.is_python() {
        let pip = program.args.array_windows().any(|[one, two]| {
            one.text == "-m" && matches!(two.text.as_str(), "pip" | "ensurepip" | "easy_install")
        });
        let is_install = pip && program.has(&["install", "ensurepip"]);
        return is_install.then(|| format!("{} -m pip install", program.name));
    }
    INSTALLERS.texts(program).next()
}
