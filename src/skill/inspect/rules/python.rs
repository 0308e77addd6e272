use std::collections::BTreeSet;

use super::code::strings;
use super::danger::danger;
use super::look::Look;
use super::network::{module, reaches};
use super::program::programs;
use super::run::runs;
use super::shell::shell;
use super::sockets::sockets;
use crate::skill::inspect::Rule;
use crate::skill::inspect::python::{Call, Code, Kind, read};
use crate::skill::inspect::shell::{Command, UNKNOWN, Word};

/// What hands a text or a list to the system.
const STARTS: [&str; 10] = [
    "subprocess.run",
    "subprocess.call",
    "subprocess.Popen",
    "subprocess.check_call",
    "subprocess.check_output",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "asyncio.create_subprocess_exec",
    "commands.getoutput",
];

/// What hands a text to a shell, whatever else it is told.
const SHELLS: [&str; 6] = [
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "commands.getoutput",
];

/// What reads data that can execute programs.
const UNPICKLES: [&str; 12] = [
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "cPickle.load",
    "cPickle.loads",
    "dill.load",
    "dill.loads",
    "cloudpickle.load",
    "cloudpickle.loads",
    "marshal.load",
    "marshal.loads",
    "shelve.open",
];

/// Looks at a program of Python. `base` is where it stands in its file.
pub(in crate::skill::inspect) fn python(look: &mut Look<'_>, (text, base): (&str, usize)) {
    let code = read(text, base);
    for (at, imported) in &code.imports {
        if let Some(module) = module(imported).filter(|module| *module != "socket") {
            look.net(module, *at);
        }
    }
    sockets(look, &code);
    for (at, name, _) in &code.names {
        let used = name.strip_suffix(".get").unwrap_or(name);
        if let Some(module) = module(used).filter(|module| module.contains('.')) {
            look.net(module, *at);
        }
    }
    for call in &code.calls {
        executes(look, call);
        starts(look, call);
        harms(look, call);
    }
    environment(look, &code);
    strings(look, &code);
    off(look, &code);
}

fn executes(look: &mut Look<'_>, call: &Call) {
    let name = call.name.strip_prefix("builtins.").unwrap_or(&call.name);
    match name {
        "eval" | "exec" if call.text().is_none() => {
            let why = format!("`{name}` executes a text that is not fixed");
            look.find(Rule::EvalInput, call.at, why);
        }
        "exec" => {
            if let Some(text) = call.text() {
                look.deeper(call.at, |look| python(look, (&text, call.at)));
            }
        }
        "__import__" if call.text().is_none() => {
            look.find(
                Rule::EvalInput,
                call.at,
                "which module is loaded is not fixed",
            );
        }
        "__import__" | "importlib.import_module" => {
            if let Some(module) = call.text().as_deref().and_then(module) {
                look.net(module, call.at);
            }
        }
        "getattr" => {
            let of = call.args.first().and_then(|token| token.name());
            if matches!(of, Some("os" | "builtins" | "subprocess" | "__builtins__")) {
                let why = "what is called is taken from a module by a name in a text";
                look.find(Rule::EvalInput, call.at, why);
            }
        }
        _ if UNPICKLES.contains(&name) => {
            let why = format!("`{name}` reads data that can execute programs");
            look.find(Rule::Unpickled, call.at, why);
        }
        "yaml.load" | "yaml.load_all" | "yaml.unsafe_load" | "yaml.full_load" => {
            let safe = call.args.iter().filter_map(|token| token.name());
            let is_safe = safe
                .into_iter()
                .any(|name| name.contains("SafeLoader") || name == "BaseLoader");
            if !is_safe {
                look.find(
                    Rule::Unpickled,
                    call.at,
                    format!("`{name}` reads YAML that can make any object"),
                );
            }
        }
        _ => {}
    }
}

/// What is handed to the system: a text for a shell must be fixed, and what is fixed is looked at.
fn starts(look: &mut Look<'_>, call: &Call) {
    let name = call.name.as_str();
    let spawns = name.starts_with("os.exec")
        || name.starts_with("os.spawn")
        || name.starts_with("os.posix_spawn");
    let is_shell = SHELLS.contains(&name) || STARTS.contains(&name) && call.has("shell", "True");
    if is_shell {
        if let Some(text) = call.text() {
            look.deeper(call.at, |look| {
                shell(look, (&text, call.at), &BTreeSet::new());
            });
        } else {
            let why = format!("`{name}` hands a text that is not fixed to a shell");
            look.find(Rule::EvalInput, call.at, why);
        }
    } else if STARTS.contains(&name) || spawns {
        let list = call
            .list()
            .or_else(|| call.text().map(|text| vec![Some(text)]));
        let Some(list) = list else { return };
        let command = listed(&list, call.at);
        let all = programs(&command);
        for program in &all {
            danger(look, program, false);
            if let Some(what) = reaches(program) {
                look.net(&what, program.at);
            }
        }
        look.deeper(call.at, |look| runs(look, &command, &all, &BTreeSet::new()));
    }
}

/// A list of arguments as a command; what is not known is unknown.
fn listed(list: &[Option<String>], at: usize) -> Command {
    let word = |text: &Option<String>| Word {
        at,
        text: text.clone().unwrap_or_else(|| UNKNOWN.to_string()),
        has_command: text.is_none(),
        is_quoted: true,
        ..Word::default()
    };
    let words: Vec<Word> = list.iter().map(word).collect();
    // A program that is not known is none that could be named.
    let words = if words.first().is_some_and(Word::is_fixed) {
        words
    } else {
        Vec::new()
    };
    Command {
        at,
        words,
        ..Command::default()
    }
}

fn harms(look: &mut Look<'_>, call: &Call) {
    let name = call.name.as_str();
    match name {
        "shutil.rmtree" | "os.removedirs" => {
            let fixed = call
                .text()
                .is_some_and(|path| super::places::is_everything(&path));
            let first: Vec<&str> = call
                .first()
                .iter()
                .filter_map(|token| token.name())
                .collect();
            let is_home = first == ["Path", "home"]
                || first == ["pathlib", "Path", "home"]
                || first == ["os", "path", "expanduser"]
                    && call.first().iter().any(|token| token.text() == Some("~"));
            if fixed || is_home {
                look.find(
                    Rule::DeleteAll,
                    call.at,
                    "it deletes everything below the root or the home folder",
                );
            }
        }
        "os.chmod" | ".chmod" | "os.fchmod" => {
            let open = call.args.iter().any(|token| match &token.kind {
                Kind::Number(number) => {
                    number.starts_with("0o") && number.ends_with(['2', '3', '6', '7'])
                }
                Kind::Name(name) => name == "S_IWOTH" || name == "S_IRWXO",
                _ => false,
            });
            if open {
                look.find(Rule::WorldWritable, call.at, "it lets everybody write");
            }
        }
        "os.setuid" | "os.seteuid" | "os.setgid" => {
            look.find(
                Rule::Privilege,
                call.at,
                format!("`{name}` changes whose rights it has"),
            );
        }
        "pty.spawn" | "os.dup2" => {
            look.find(
                Rule::ReverseShell,
                call.at,
                format!("`{name}` gives a program to somebody else"),
            );
        }
        "pip.main" | "pip._internal.main" | "ensurepip.bootstrap" => {
            look.find(
                Rule::PackageInstall,
                call.at,
                format!("`{name}` installs packages"),
            );
        }
        _ => {}
    }
}

/// Which variables of the environment are read.
fn environment(look: &mut Look<'_>, code: &Code) {
    let mut set = BTreeSet::new();
    let mut read: Vec<(usize, String)> = Vec::new();
    for (at, name, end) in &code.names {
        let after = code.tokens.get(*end..).unwrap_or_default();
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
            look.reads(&name, at);
        }
    }
}

/// Where certificates are not checked.
fn off(look: &mut Look<'_>, code: &Code) {
    let mut found: Vec<usize> = Vec::new();
    for [key, is, value] in code.tokens.array_windows() {
        let is_off = is.is('=') && value.name() == Some("False");
        if is_off
            && matches!(
                key.name(),
                Some("verify" | "check_hostname" | "verify_ssl" | "ssl_verify")
            )
        {
            found.push(key.at);
        }
    }
    for (at, name, _) in &code.names {
        let last = name.rsplit('.').next().unwrap_or_default();
        if matches!(last, "_create_unverified_context" | "CERT_NONE") {
            found.push(*at);
        }
    }
    for at in found {
        look.find(Rule::TlsOff, at, "it does not check who answers");
    }
}
