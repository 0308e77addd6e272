use super::look::Look;
use super::places::{is_everything, starts_later};
use super::program::Program;
use crate::skill::inspect::Rule;
use crate::skill::inspect::shell::{Command, UNKNOWN, Word};

/// Programs that give more rights.
const RIGHTS: [&str; 6] = ["sudo", "doas", "su", "pkexec", "setcap", "visudo"];

/// Programs that write where their arguments say.
const WRITERS: [&str; 7] = ["tee", "cp", "mv", "ln", "install", "sed", "dd"];

/// Looks at one program of a command.
pub(super) fn danger(look: &mut Look<'_>, program: &Program<'_>, has_unset: bool) {
    let (name, at) = (program.name, program.at);
    if RIGHTS.contains(&name) {
        look.find(
            Rule::Privilege,
            at,
            format!("`{name}` asks for more rights"),
        );
    }
    match name {
        "chmod" => chmod(look, program),
        "rm" | "find" | "shred" => deletes(look, program, has_unset),
        "dd" if program
            .args
            .iter()
            .any(|arg| arg.text.starts_with("of=/dev/") && arg.text != "of=/dev/null") =>
        {
            look.find(Rule::DeleteAll, at, "it writes over a device");
        }
        _ if name.starts_with("mkfs") => {
            look.find(Rule::DeleteAll, at, "it makes a file system anew");
        }
        _ => {}
    }
    later(look, program);
    connections(look, program);
    certificates(look, program);
    if let Some(what) = installs(program) {
        look.find(
            Rule::PackageInstall,
            at,
            format!("`{what}` installs packages"),
        );
    }
}

/// Looks at where a command writes to and reads from.
pub(super) fn files(look: &mut Look<'_>, command: &Command) {
    for word in &command.writes {
        if starts_later(&word.text) {
            look.find(
                Rule::Persistence,
                word.at,
                "it writes where programs are started later",
            );
        }
    }
    let all = command
        .writes
        .iter()
        .chain(&command.reads)
        .chain(&command.words);
    for word in all {
        look.path(&word.text, word.at);
        if word.text.contains("/dev/tcp/") || word.text.contains("/dev/udp/") {
            look.find(
                Rule::ReverseShell,
                word.at,
                "it opens a connection through /dev/tcp",
            );
        }
    }
    for (name, value) in &command.sets {
        look.path(&value.text, value.at);
        if is_off(name, &value.text) {
            look.find(
                Rule::TlsOff,
                value.at,
                format!("{name} turns the check of certificates off"),
            );
        }
    }
}

/// Whether a variable turns the check of certificates off.
pub(super) fn is_off(name: &str, value: &str) -> bool {
    match name {
        "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" => value == "0",
        "GIT_SSL_NO_VERIFY" => !value.is_empty() && value != "0" && value != "false",
        _ => false,
    }
}

fn chmod(look: &mut Look<'_>, program: &Program<'_>) {
    for arg in program.args {
        let text = arg.text.as_str();
        let is_number =
            (3..=5).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let signs = text.split(',').any(|part| {
            let who = part.split(['+', '=']).next().unwrap_or_default();
            let what = part.get(who.len()..).unwrap_or_default();
            !what.is_empty()
                && who.contains(['o', 'a'])
                && who.bytes().all(|byte| b"ugoa".contains(&byte))
                && what.contains('w')
        });
        if (is_number && text.ends_with(['2', '3', '6', '7'])) || signs {
            look.find(
                Rule::WorldWritable,
                arg.at,
                format!("`chmod {text}` lets everybody write"),
            );
        }
        let special = is_number
            && text.len() >= 4
            && text.trim_start_matches('0').len() == 4
            && text.trim_start_matches('0').starts_with(['2', '4', '6']);
        let letters = matches!(text, "+s" | "u+s" | "g+s" | "ug+s" | "a+s" | "u=s");
        if special || letters {
            look.find(
                Rule::Privilege,
                arg.at,
                format!("`chmod {text}` gives a program the rights of its owner"),
            );
        }
    }
}

fn deletes(look: &mut Look<'_>, program: &Program<'_>, has_unset: bool) {
    let is_all = match program.name {
        "find" => {
            program.has(&["-delete"])
                || program
                    .args
                    .array_windows()
                    .any(|[exec, what]| exec.text == "-exec" && what.text == "rm")
        }
        "rm" => program.short('r') || program.short('R') || program.has(&["--recursive"]),
        _ => true,
    };
    if !is_all {
        return;
    }
    let targets = program
        .args
        .iter()
        .take_while(|arg| program.name != "find" || !arg.text.starts_with('-'));
    for arg in targets.filter(|arg| !arg.text.starts_with('-')) {
        let home = arg.vars.first().is_some_and(|var| var.name == "HOME");
        let rest = arg.text.strip_prefix(UNKNOWN);
        let is_home =
            home && rest.is_some_and(|rest| matches!(rest, "" | "/" | "/*" | "/." | "/.*"));
        if is_everything(&arg.text) || is_home {
            look.find(
                Rule::DeleteAll,
                arg.at,
                "it deletes everything below the root or the home folder",
            );
        } else if has_unset && loses(look, arg) {
            look.find(
                Rule::DeleteAll,
                arg.at,
                "where the variable is not set, it deletes what lies below the root",
            );
        }
    }
}

/// Whether a path is another one where its variable is not set.
fn loses(look: &Look<'_>, arg: &Word) -> bool {
    let rest = arg
        .text
        .strip_prefix(UNKNOWN)
        .filter(|rest| rest.starts_with('/'));
    let (Some(rest), Some(var)) = (rest, arg.vars.first()) else {
        return false;
    };
    let is_given =
        look.given.env.contains(&var.name) || matches!(var.name.as_str(), "HOME" | "PWD");
    let everything = matches!(rest, "/" | "/*" | "/." | "/.*");
    !var.is_guarded && !arg.has_command && (!is_given || everything)
}

fn later(look: &mut Look<'_>, program: &Program<'_>) {
    let at = program.at;
    let edits = program.name != "sed" || program.short('i') || program.has(&["--in-place"]);
    if WRITERS.contains(&program.name) && edits {
        let last = match program.name {
            "tee" | "sed" => program.args,
            _ => program.args.last().map_or(&[][..], std::slice::from_ref),
        };
        for arg in last.iter().filter(|arg| starts_later(&arg.text)) {
            look.find(
                Rule::Persistence,
                arg.at,
                "it writes where programs are started later",
            );
        }
    }
    let plants = match program.name {
        "crontab" => !program.has(&["-l"]),
        "at" | "batch" => program.has(&["-f", "now"]),
        "ssh-copy-id" | "update-rc.d" | "chkconfig" => true,
        "systemctl" | "launchctl" => program.has(&["enable", "load", "bootstrap", "link"]),
        "git" => {
            program.has(&["config"])
                && (program.has(&["--global", "--system"])
                    || program
                        .args
                        .iter()
                        .any(|arg| arg.text.starts_with("core.hooks")))
        }
        _ => false,
    };
    let only_reads = program.name == "git" && program.has(&["--get", "--list", "-l", "--get-all"]);
    if plants && !only_reads {
        look.find(
            Rule::Persistence,
            at,
            format!("`{}` changes what is started later", program.name),
        );
    }
}

fn connections(look: &mut Look<'_>, program: &Program<'_>) {
    let gives = match program.name {
        "nc" | "ncat" | "netcat" => {
            program.short('e') || program.short('c') || program.has(&["--exec", "--sh-exec"])
        }
        "socat" => program.args.iter().any(|arg| {
            let text = arg.text.to_ascii_uppercase();
            text.starts_with("EXEC:") || text.starts_with("SYSTEM:")
        }),
        _ => false,
    };
    if gives {
        look.find(
            Rule::ReverseShell,
            program.at,
            "it gives a program to whoever connects",
        );
    }
}

fn certificates(look: &mut Look<'_>, program: &Program<'_>) {
    let words: Vec<&str> = program.args.iter().map(|arg| arg.text.as_str()).collect();
    let any = |test: &dyn Fn(&str) -> bool| words.iter().any(|word| test(word));
    let is_off = match program.name {
        "curl" => program.short('k') || program.has(&["--insecure", "--proxy-insecure"]),
        "wget" => program.has(&["--no-check-certificate"]),
        "git" => {
            any(&|word| word.eq_ignore_ascii_case("http.sslverify=false"))
                || any(&|word| word.eq_ignore_ascii_case("http.sslverify"))
                    && any(&|word| word == "false" || word == "0")
        }
        "pip" | "pip3" => any(&|word| word.starts_with("--trusted-host")),
        "npm" | "yarn" | "pnpm" => {
            any(&|word| word == "strict-ssl") && any(&|word| word == "false")
        }
        "ssh" | "scp" | "sftp" | "rsync" => any(&|word| {
            word.to_ascii_lowercase()
                .contains("stricthostkeychecking=no")
        }),
        "env" | "export" => words.iter().any(|word| {
            word.split_once('=')
                .is_some_and(|(name, value)| self::is_off(name, value))
        }),
        _ => false,
    };
    if is_off {
        look.find(
            Rule::TlsOff,
            program.at,
            format!("`{}` is told not to check who answers", program.name),
        );
    }
}

/// What installs packages, if it does.
pub(in crate::skill::inspect) fn installs(program: &Program<'_>) -> Option<String> {
    let verb = program.verb();
    let has = |verbs: &[&str]| verbs.contains(&verb);
    let says = |verb: &str| Some(format!("{} {verb}", program.name));
    match program.name {
        "pip" | "pip3" | "pipx" | "conda" | "mamba" | "gem" | "brew" | "apt" | "apt-get"
        | "yum" | "dnf" | "zypper" | "snap" | "luarocks" | "cpan" | "easy_install" => {
            has(&["install", "add", "reinstall", "upgrade", "dist-upgrade"])
                .then(|| says(verb))
                .flatten()
        }
        "uv" | "poetry" | "cargo" | "go" | "apk" | "bundle" | "composer" => {
            let uv = program.name == "uv" && has(&["pip", "tool", "add", "sync"]);
            (uv || has(&["install", "add", "get"]))
                .then(|| says(verb))
                .flatten()
        }
        "npm" | "pnpm" | "yarn" | "bun" => has(&["install", "i", "add", "ci"])
            .then(|| says(verb))
            .flatten(),
        "npx" | "uvx" | "pnpx" | "bunx" | "cpanm" => Some(program.name.to_owned()),
        "pacman" => program.short('S').then(|| says("-S")).flatten(),
        _ if program.is_python() => {
            let pip = program.args.array_windows().any(|[one, two]| {
                one.text == "-m"
                    && matches!(two.text.as_str(), "pip" | "ensurepip" | "easy_install")
            });
            (pip && (program.has(&["install", "ensurepip"])))
                .then(|| says("-m pip install"))
                .flatten()
        }
        _ => None,
    }
}
