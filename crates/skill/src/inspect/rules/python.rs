use std::collections::BTreeSet;

use super::{
    danger::danger,
    lists::{network_module, network_use},
    look::FileInspection,
    other::check_strings,
    program::programs,
    run::runs,
    shell::shell,
    sockets::sockets,
};
use crate::inspect::{
    Rule,
    python::{ParsedCall, ParsedProgram, ScriptTokenKind, read_program},
    shell::{CommandWord, ShellCommand, UNKNOWN},
    tables::WordList,
};

/// Functions starting a program from a text or a list.
static STARTS: WordList = WordList::from_table(include_str!("../tables/words/python_starts.txt"));

/// Functions that always pass a text to a shell.
static SHELLS: WordList = WordList::from_table(include_str!("../tables/words/python_shells.txt"));

/// Functions loading data able to execute code.
static UNPICKLES: WordList = WordList::from_table(include_str!("../tables/words/python_unpickles.txt"));

/// Checks a program of Python. `base` is its offset in its file.
pub(in crate::inspect) fn python(inspection: &mut FileInspection<'_>, text: &str, base: usize) {
    let code = read_program(text, base);
    for (at, imported) in &code.imports {
        if let Some(module) = network_module(imported).filter(|module| *module != "socket") {
            inspection.net(module, *at);
        }
    }
    sockets(inspection, &code);
    for (at, name, _) in &code.names {
        let used = name.strip_suffix(".get").unwrap_or(name);
        if let Some(module) = network_module(used).filter(|module| module.contains('.')) {
            inspection.net(module, *at);
        }
    }
    for call in &code.calls {
        executes(inspection, call);
        starts(inspection, call);
        harms(inspection, call);
    }
    environment(inspection, &code);
    check_strings(inspection, &code);
    off(inspection, &code);
}

fn executes(inspection: &mut FileInspection<'_>, call: &ParsedCall) {
    let name = call.name.strip_prefix("builtins.").unwrap_or(&call.name);
    match name {
        "eval" | "exec" if call.text().is_none() => {
            let reason = format!("`{name}` executes a dynamic string");
            inspection.report(Rule::EvalInput, call.at, reason);
        }
        "exec" => {
            if let Some(text) = call.text() {
                inspection.inspect_nested(call.at, |look| python(look, &text, call.at));
            }
        }
        "__import__" if call.text().is_none() => {
            inspection.report(Rule::EvalInput, call.at, "the loaded module is dynamic");
        }
        "__import__" | "importlib.import_module" => {
            if let Some(module) = call.text().as_deref().and_then(network_module) {
                inspection.net(module, call.at);
            }
        }
        "getattr" => {
            let of = call.args.first().and_then(|token| token.name());
            if matches!(of, Some("os" | "builtins" | "subprocess" | "__builtins__")) {
                let reason = "the called function is looked up by a dynamic name";
                inspection.report(Rule::EvalInput, call.at, reason);
            }
        }
        _ if UNPICKLES.contains(name) => {
            let reason = format!("`{name}` reads data that can execute code");
            inspection.report(Rule::Unpickled, call.at, reason);
        }
        "yaml.load" | "yaml.load_all" | "yaml.unsafe_load" | "yaml.full_load" => {
            let safe = call.args.iter().filter_map(|token| token.name());
            let is_safe = safe.into_iter().any(|name| name.contains("SafeLoader") || name == "BaseLoader");
            if !is_safe {
                inspection.report(
                    Rule::Unpickled,
                    call.at,
                    format!("`{name}` reads YAML that can create arbitrary objects"),
                );
            }
        }
        _ => {}
    }
}

/// Checks the start of a program: a text for a shell must be fixed, and is then checked itself.
fn starts(inspection: &mut FileInspection<'_>, call: &ParsedCall) {
    let name = call.name.as_str();
    let spawns =
        name.starts_with("os.exec") || name.starts_with("os.spawn") || name.starts_with("os.posix_spawn");
    let is_shell = SHELLS.contains(name) || STARTS.contains(name) && call.has("shell", "True");
    if is_shell {
        if let Some(text) = call.text() {
            inspection.inspect_nested(call.at, |look| {
                shell(look, &text, call.at, &BTreeSet::new());
            });
        } else {
            let reason = format!("`{name}` passes a dynamic string to a shell");
            inspection.report(Rule::EvalInput, call.at, reason);
        }
    } else if STARTS.contains(name) || spawns {
        let list = call.list().or_else(|| call.text().map(|text| vec![Some(text)]));
        let Some(list) = list else { return };
        let command = listed(&list, call.at);
        let executed_programs = programs(&command);
        for program in &executed_programs {
            danger(inspection, program, false);
            if let Some(tool) = network_use(program) {
                inspection.net(&tool, program.at);
            }
        }
        inspection.inspect_nested(call.at, |look| runs(look, &command, &executed_programs, &BTreeSet::new()));
    }
}

/// Returns a list of arguments as a command; unknown items are unknown words.
fn listed(list: &[Option<String>], at: usize) -> ShellCommand {
    let word = |text: &Option<String>| CommandWord {
        at,
        text: text.clone().unwrap_or_else(|| UNKNOWN.to_string()),
        has_command: text.is_none(),
        is_quoted: true,
        ..CommandWord::default()
    };
    let words: Vec<CommandWord> = list.iter().map(word).collect();
    // An unknown program has no name to report.
    let words = if words.first().is_some_and(CommandWord::is_fixed) { words } else { Vec::new() };
    ShellCommand { at, words, ..ShellCommand::default() }
}

fn harms(inspection: &mut FileInspection<'_>, call: &ParsedCall) {
    let name = call.name.as_str();
    match name {
        "shutil.rmtree" | "os.removedirs" => {
            let fixed = call.text().is_some_and(|path| super::lists::is_everything(&path));
            let first: Vec<&str> = call.first().iter().filter_map(|token| token.name()).collect();
            let is_home = first == ["Path", "home"]
                || first == ["pathlib", "Path", "home"]
                || first == ["os", "path", "expanduser"]
                    && call.first().iter().any(|token| token.text() == Some("~"));
            if fixed || is_home {
                inspection.report(
                    Rule::DeleteAll,
                    call.at,
                    "it deletes everything under the root or the home folder",
                );
            }
        }
        "os.chmod" | ".chmod" | "os.fchmod" => {
            let open = call.args.iter().any(|token| match &token.kind {
                ScriptTokenKind::Number(number) => {
                    number.starts_with("0o") && number.ends_with(['2', '3', '6', '7'])
                }
                ScriptTokenKind::Name(name) => name == "S_IWOTH" || name == "S_IRWXO",
                _ => false,
            });
            if open {
                inspection.report(Rule::WorldWritable, call.at, "it makes files writable for everyone");
            }
        }
        "os.setuid" | "os.seteuid" | "os.setgid" => {
            inspection.report(Rule::Privilege, call.at, format!("`{name}` changes its user or group"));
        }
        "pty.spawn" | "os.dup2" => {
            inspection.report(
                Rule::ReverseShell,
                call.at,
                format!("`{name}` exposes a shell or a connection to another host"),
            );
        }
        "pip.main" | "pip._internal.main" | "ensurepip.bootstrap" => {
            inspection.report(Rule::PackageInstall, call.at, format!("`{name}` installs packages"));
        }
        _ => {}
    }
}

/// Checks the environment variables that are read.
fn environment(inspection: &mut FileInspection<'_>, program: &ParsedProgram) {
    let mut set = BTreeSet::new();
    let mut read: Vec<(usize, String)> = Vec::new();
    for (at, name, end) in &program.names {
        let after = program.tokens.get(*end..).unwrap_or_default();
        let is_all = matches!(name.as_str(), "os.environ" | "os.environb");
        match after {
            [open, key, close, is, next, ..] if is_all && open.is('[') && close.is(']') => {
                let Some(key) = key.text() else { continue };
                if is.is('=') && !next.is('=') {
                    set.insert(key.to_owned());
                } else {
                    read.push((*at, key.to_owned()));
                }
            }
            [open, key, ..] if open.is('(') => {
                let Some(key) = key.text() else { continue };
                match name.as_str() {
                    "os.getenv" | "os.environ.get" | "os.environ.pop" | "os.getenvb" => {
                        read.push((*at, key.to_owned()));
                    }
                    "os.environ.setdefault" | "os.putenv" => {
                        set.insert(key.to_owned());
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    for (at, name) in read {
        if !set.contains(&name) {
            inspection.reads(&name, at);
        }
    }
}

/// Finds disabled verification of certificates.
fn off(inspection: &mut FileInspection<'_>, program: &ParsedProgram) {
    let mut offsets: Vec<usize> = Vec::new();
    for [key, is, value] in program.tokens.array_windows() {
        let is_off = is.is('=') && value.name() == Some("False");
        if is_off && matches!(key.name(), Some("verify" | "check_hostname" | "verify_ssl" | "ssl_verify")) {
            offsets.push(key.at);
        }
    }
    for (at, name, _) in &program.names {
        let last = name.rsplit('.').next().unwrap_or_default();
        if matches!(last, "_create_unverified_context" | "CERT_NONE") {
            offsets.push(*at);
        }
    }
    for at in offsets {
        inspection.report(Rule::TlsOff, at, "it disables certificate verification");
    }
}
