use std::rc::Rc;

use super::facts::{At, Event, Send};
use super::operands::Operands;
use super::place::{Label, Place};
use super::shell::Script;
use crate::skill::inspect::rules::{Program, programs};
use crate::skill::inspect::shell::{Command, Word};

/// Programs whose output says nothing of what their arguments name.
const QUIET: [&str; 20] = [
    "[",
    "[[",
    "test",
    "ls",
    "stat",
    "chown",
    "mkdir",
    "rm",
    "rmdir",
    "which",
    "type",
    "command",
    "wc",
    "sha256sum",
    "shasum",
    "md5sum",
    "touch",
    "exit",
    "return",
    "kill",
];

/// Programs that write what they read in another form.
const PACKERS: [&str; 10] = [
    "base64", "base32", "xxd", "od", "hexdump", "gzip", "tar", "zip", "openssl", "gpg",
];

/// A program that is started, with what it is given.
pub(super) struct Call<'a> {
    /// The whole command.
    pub(super) command: &'a Command,
    /// The program.
    pub(super) program: Program<'a>,
    /// Its arguments.
    pub(super) operands: Operands<'a>,
    /// What it reads.
    pub(super) input: At,
    /// Whether what it reads are arguments: `xargs`.
    pub(super) reads_names: bool,
    /// What it prints.
    pub(super) out: At,
}

impl Script<'_, '_> {
    /// Reads what the program of a command does with what it is given; `out` is what it prints.
    pub(super) fn program(&mut self, command: &Command, (input, inner): (At, &[At]), out: At) {
        let Some(first) = command.words.first() else {
            return;
        };
        let all = programs(command);
        let Some(program) = all.last().copied() else {
            // Which program it is stands in a variable.
            let operands = self.operands(&command.words, inner);
            if let Some(what) = operands.values.first() {
                self.runs(first.at, *what);
            }
            self.pass(&operands, input, out);
            return;
        };
        let reads_names = |one: &Program<'_>| matches!(one.name, "xargs" | "parallel");
        let operands = self.operands(program.args, inner);
        let call = Call {
            command,
            program,
            operands,
            input,
            reads_names: all.iter().any(reads_names),
            out,
        };
        self.reaches(&call);
        self.packages(&program);
        if PACKERS.contains(&program.name) {
            self.packs(program.at, out);
        }
    }

    /// Programs of the network, and all others.
    fn reaches(&mut self, call: &Call<'_>) {
        match call.program.name {
            "curl" | "wget" | "aria2c" | "http" | "https" | "xh" | "iwr" | "irm"
            | "Invoke-WebRequest" | "Invoke-RestMethod" => self.transfers(call),
            "nc" | "ncat" | "netcat" | "telnet" | "socat" | "mail" | "mailx" | "sendmail" => {
                let host = self.gathered(&call.operands.values);
                self.hosts(&call.operands, host);
                self.sends(call.program.at, (call.input, host), false);
                self.fetches(call.program.at, host, call.out);
            }
            "dig" | "nslookup" | "host" | "ping" => {
                let host = self.gathered(&call.operands.values);
                self.hosts(&call.operands, host);
                self.sends(call.program.at, (host, host), false);
            }
            "scp" | "rsync" | "rclone" | "sftp" | "ssh" => self.copies_far(call),
            "git" if call.program.verb() == "clone" => self.clones(call),
            _ => self.works(call),
        }
    }

    /// Programs that move files, set variables, and print what is secret.
    fn works(&mut self, call: &Call<'_>) {
        let (program, operands) = (&call.program, &call.operands);
        match program.name {
            "cp" | "mv" | "ln" | "install" => {
                if let Some((last, from)) = operands.plain(&[]).split_last() {
                    let what = self.loaded(from);
                    self.facts.stores.push((*last, what));
                }
            }
            "tee" => {
                let paths = self.gathered(&operands.plain(&[]));
                self.facts.stores.push((paths, call.input));
                self.facts.moves(call.input, call.out);
            }
            "tar" => self.tape(call),
            "zip" | "unzip" | "gunzip" => self.archive(call),
            "chmod" => self.allows(call),
            "cd" | "pushd" => {
                let folder = program.args.first().map(|word| self.rendered(word));
                self.folder = folder.filter(|folder| !folder.contains(['$', '*', '-']));
            }
            "env" | "printenv" | "set" if program.args.is_empty() => {
                self.secret("the environment", call.out);
            }
            "printenv" => {
                for text in operands.texts() {
                    let from = self.facts.place(Place::Environment(text.to_owned()));
                    self.facts.moves(from, call.out);
                }
            }
            "read" | "mapfile" | "readarray" => self.sets(program.args, &[call.input]),
            "for" | "select" => {
                let values = operands.values.get(1..).unwrap_or_default();
                self.sets(program.args.get(..1).unwrap_or_default(), values);
            }
            "eval" => {
                let what = self.gathered(&operands.values);
                self.runs(program.at, what);
            }
            name if QUIET.contains(&name) => {}
            _ => {
                if let Some(name) = keeper(program) {
                    self.secret(name, call.out);
                }
                self.starts(call);
            }
        }
    }

    /// Who makes a file a program means to start it.
    fn allows(&mut self, call: &Call<'_>) {
        let starts = |text: &str| {
            let is_mode = text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_mode && text.contains(['1', '5', '7']) || text.contains('+') && text.contains('x')
        };
        let plain = call.operands.plain(&[]);
        if let (true, Some((_, files))) = (call.operands.texts().any(starts), plain.split_first()) {
            let what = self.gathered(files);
            self.runs(call.program.at, what);
        }
    }

    /// Whatever else a program does: it may print what it is given and what it reads.
    pub(super) fn pass(&mut self, operands: &Operands<'_>, input: At, out: At) {
        self.facts.moves(input, out);
        for value in &operands.values {
            self.facts.moves(*value, out);
            self.facts.loads.push((*value, out));
        }
    }

    fn sets(&mut self, names: &[Word], values: &[At]) {
        for name in names.iter().filter(|name| !name.text.starts_with('-')) {
            let scope = Rc::clone(&self.source.scope);
            let to = self.facts.place(Place::Variable(scope, name.text.clone()));
            for from in values {
                self.facts.moves(*from, to);
            }
        }
    }

    fn secret(&mut self, name: &str, at: At) {
        let label = Label::Secret(name.to_owned());
        self.facts.labels.push((label, at));
    }

    /// All of these values in one.
    pub(super) fn gathered(&mut self, values: &[At]) -> At {
        let all = self.facts.value();
        for from in values {
            self.facts.moves(*from, all);
        }
        all
    }

    /// What is in the files that values name.
    pub(super) fn loaded(&mut self, paths: &[At]) -> At {
        let all = self.facts.value();
        for path in paths {
            self.facts.loads.push((*path, all));
        }
        all
    }

    pub(super) fn sends(&mut self, at: usize, (what, to): (At, At), is_proof: bool) {
        let file = self.source.file.to_owned();
        let event = Event { file, at, what };
        self.facts.sends.push(Send {
            event,
            to,
            is_proof,
        });
    }
}

/// The credential that a program prints, by the name that its variable has elsewhere.
fn keeper(program: &Program<'_>) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().all(|word| program.has(&[word]));
    Some(match program.name {
        "gh" if has(&["auth", "token"]) => "GITHUB_TOKEN",
        "gcloud" if program.has(&["print-access-token", "print-identity-token"]) => "GOOGLE_TOKEN",
        "az" if has(&["get-access-token"]) => "AZURE_TOKEN",
        "aws"
            if has(&["configure", "get"])
                || program.has(&["export-credentials", "get-session-token"]) =>
        {
            "AWS_SECRET_KEY"
        }
        "npm" if has(&["token"]) => "NPM_TOKEN",
        "kubectl" if has(&["get"]) && program.has(&["secret", "secrets"]) => {
            "the secrets of a cluster"
        }
        "security" if program.verb().starts_with("find-") => "the keychain",
        "pass" if program.verb() == "show" => "a password store",
        "git" if has(&["credential", "fill"]) => "a password store",
        _ => return None,
    })
}
