use std::rc::Rc;

use super::facts::{At, Event, Send};
use super::operands::Operands;
use super::place::{Label, Place};
use super::python::python;
use super::shell::{Script, shell};
use crate::skill::inspect::rules::{Program, installs, programs};
use crate::skill::inspect::shell::{Command, Word};

/// Options of programs that fetch and send: what is said, who says it, and where the answer goes.
const SAID: [&str; 15] = [
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--data-ascii",
    "-F",
    "--form",
    "--form-string",
    "-T",
    "--upload-file",
    "--json",
    "--post-data",
    "--post-file",
    "--body-file",
];
const PROOF: [&str; 6] = ["-H", "--header", "-u", "--user", "--oauth2-bearer", "-b"];
const INTO: [&str; 4] = ["-o", "--output", "--output-document", "-OutFile"];
const OTHER: [&str; 10] = [
    "-X",
    "--request",
    "-A",
    "--user-agent",
    "-m",
    "--max-time",
    "--retry",
    "-w",
    "-e",
    "-P",
];

/// Programs whose output says nothing of what their arguments name.
const QUIET: [&str; 22] = [
    "[",
    "[[",
    "test",
    "ls",
    "stat",
    "chown",
    "mkdir",
    "rm",
    "rmdir",
    "cd",
    "which",
    "type",
    "command",
    "wc",
    "sha256sum",
    "shasum",
    "md5sum",
    "touch",
    "sleep",
    "exit",
    "return",
    "kill",
];

/// Programs that write what they read in another form.
const PACKERS: [&str; 10] = [
    "base64", "base32", "xxd", "od", "hexdump", "gzip", "tar", "zip", "openssl", "gpg",
];

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

impl Script<'_, '_> {
    /// Reads what the program of a command does with what it is given; `out` is what it prints.
    pub(super) fn program(&mut self, command: &Command, (input, inner): (At, &[At]), out: At) {
        let Some(first) = command.words.first() else {
            return;
        };
        let all = programs(command);
        let Some(program) = all.last().copied() else {
            let operands = self.operands(&command.words, inner);
            if let Some(what) = operands.values.first() {
                self.runs(first.at, *what);
            }
            self.pass(&operands, input, out);
            return;
        };
        let reads_names = all
            .iter()
            .any(|one| matches!(one.name, "xargs" | "parallel"));
        let operands = self.operands(program.args, inner);
        match program.name {
            "curl" | "wget" | "aria2c" | "http" | "https" | "xh" | "iwr" | "irm"
            | "Invoke-WebRequest" | "Invoke-RestMethod" => {
                let names = reads_names.then_some(input);
                self.transfers(&program, &operands, (input, names), out);
            }
            "nc" | "ncat" | "netcat" | "telnet" | "socat" | "mail" | "mailx" | "sendmail" => {
                let host = self.gathered(&operands.values);
                self.hosts(&operands, host);
                self.sends(program.at, (input, host), false);
                self.fetches(program.at, host, out);
            }
            "scp" | "rsync" | "rclone" | "sftp" | "ssh" => {
                self.copies_far(&program, &operands, input)
            }
            "dig" | "nslookup" | "host" | "ping" => {
                let host = self.gathered(&operands.values);
                self.hosts(&operands, host);
                self.sends(program.at, (host, host), false);
            }
            "cp" | "mv" | "ln" | "install" => {
                if let Some((last, from)) = operands.plain(&[]).split_last() {
                    let what = self.loaded(from);
                    self.facts.stores.push((*last, what));
                }
            }
            "tee" => {
                let paths = self.gathered(&operands.plain(&[]));
                self.facts.stores.push((paths, input));
                self.facts.moves(input, out);
            }
            "tar" | "zip" | "unzip" | "gunzip" => self.archives(&program, &operands, out),
            "chmod" => {
                let is_started = operands.texts().any(|text| {
                    text.contains('x') && text.contains('+')
                        || matches!(text, "755" | "700" | "0755" | "777" | "0700")
                });
                if let (true, Some((_, files))) = (is_started, operands.plain(&[]).split_first()) {
                    let what = self.gathered(files);
                    self.runs(program.at, what);
                }
            }
            "env" | "printenv" | "set" if program.args.is_empty() => {
                let label = Label::Secret("the environment".to_owned());
                self.facts.labels.push((label, out));
            }
            "printenv" => {
                for text in operands.texts() {
                    let from = self.facts.place(Place::Environment(text.to_owned()));
                    self.facts.moves(from, out);
                }
            }
            "read" | "mapfile" | "readarray" => self.sets(program.args, &[input]),
            "for" | "select" => {
                if let Some((name, _)) = program.args.split_first() {
                    let values = operands.values.get(1..).unwrap_or_default().to_vec();
                    self.sets(std::slice::from_ref(name), &values);
                }
            }
            "git" if program.verb() == "clone" => self.clones(&program, &operands),
            "cd" | "pushd" => {
                let folder = program.args.first().map(|word| self.rendered(word));
                self.folder = folder.filter(|folder| !folder.contains(['$', '*', '-']));
            }
            "eval" => {
                let what = self.gathered(&operands.values);
                self.runs(program.at, what);
            }
            name if QUIET.contains(&name) => {}
            _ => self.starts(command, &program, &operands, (input, reads_names), out),
        }
        self.installs(&program);
        if let Some(name) = keeper(&program) {
            self.facts
                .labels
                .push((Label::Secret(name.to_owned()), out));
        }
        if PACKERS.contains(&program.name) {
            self.packs(program.at, out);
        }
    }

    /// Programs that execute others, functions, scripts of the skill, and everything else.
    fn starts(
        &mut self,
        command: &Command,
        program: &Program<'_>,
        operands: &Operands<'_>,
        (input, reads_names): (At, bool),
        out: At,
    ) {
        let is_shell = program.is_shell();
        let runs = is_shell || program.is_interpreter() || matches!(program.name, "." | "source");
        if self.functions.contains(program.name) {
            let name = self.named(Some(program.name));
            return self.calls(&name, operands, input, out);
        }
        let code = program.code(if is_shell || program.is_python() {
            'c'
        } else {
            'e'
        });
        if let (true, Some(code)) = (runs, code) {
            return self.text(program, code, operands, out);
        }
        let is_named = command
            .words
            .iter()
            .any(|word| word.at == program.at && word.text.contains('/'));
        let plain = operands.plain(&[]);
        let script = match (runs, is_named) {
            (true, _) => operands
                .words
                .iter()
                .position(|word| !word.text.starts_with('-')),
            _ => None,
        };
        if let (true, Some(number)) = (runs, script) {
            let rest = Operands {
                words: operands.words.get(number + 1..).unwrap_or_default(),
                values: operands
                    .values
                    .get(number + 1..)
                    .unwrap_or_default()
                    .to_vec(),
            };
            let word = operands.words.get(number);
            let text = word.map(|word| self.rendered(word)).unwrap_or_default();
            if let Some(value) = operands.values.get(number) {
                self.script(&text, (program.at, *value), (&rest, input), out);
            }
        } else if let Some(word) = command
            .words
            .iter()
            .find(|word| is_named && word.at == program.at)
        {
            let value = self.operand(word, &[]);
            let text = self.rendered(word);
            self.script(&text, (program.at, value), (operands, input), out);
        } else if runs {
            if let Some((at, text)) = &command.input
                && program.is_python()
            {
                python(self.facts, self.source, (text, *at), self.depth + 1);
            } else if let Some((at, text)) = &command.input {
                let printed = shell(self.facts, self.source, (text, *at), self.depth + 1);
                printed
                    .into_iter()
                    .for_each(|from| self.facts.moves(from, out));
            }
            self.runs(program.at, input);
        } else if matches!(program.name, "pip" | "pip3" | "npm" | "dpkg" | "rpm")
            && !operands.has(&["-r"])
        {
            let what = self.gathered(plain.get(1..).unwrap_or_default());
            self.runs(program.at, what);
        } else {
            self.pass(operands, input, out);
            let into = operands.after(&["-o", "--output", "-out", "--out"]);
            for (_, paths) in into {
                self.facts.stores.push((paths, out));
            }
        }
        if reads_names && runs {
            self.runs(program.at, input);
        }
    }

    /// A text that is executed, which stands in the command or in a variable.
    fn text(&mut self, program: &Program<'_>, code: &Word, operands: &Operands<'_>, out: At) {
        let number = operands.words.iter().position(|word| word.at == code.at);
        if let Some(value) = number
            .and_then(|number| operands.values.get(number))
            .filter(|_| !code.is_fixed())
        {
            self.runs(program.at, *value);
        }
        if program.is_shell() {
            let text = self.rendered(code);
            let printed = shell(self.facts, self.source, (&text, code.at), self.depth + 1);
            printed
                .into_iter()
                .for_each(|from| self.facts.moves(from, out));
        } else if program.is_python() {
            python(
                self.facts,
                self.source,
                (&code.text, code.at),
                self.depth + 1,
            );
        }
    }

    /// A file that is executed: one of the skill is called, any other is executed as it is.
    fn script(
        &mut self,
        text: &str,
        (at, value): (usize, At),
        (operands, input): (&Operands<'_>, At),
        out: At,
    ) {
        if let Some(path) = self.facts.shipped(text) {
            let path: Rc<str> = Rc::from(path);
            self.calls(&path, operands, input, out);
        } else {
            self.runs(at, value);
            self.pass(operands, input, out);
        }
    }

    /// A function or a script of the skill.
    fn calls(&mut self, name: &Rc<str>, operands: &Operands<'_>, input: At, out: At) {
        for (number, value) in operands.values.iter().enumerate() {
            for number in [(number + 1).to_string(), "@".to_owned()] {
                let to = self.facts.place(Place::Argument(name.to_string(), number));
                self.facts.moves(*value, to);
            }
        }
        let given = self.facts.place(Place::Input(Rc::clone(name)));
        self.facts.moves(input, given);
        let printed = self.facts.place(Place::Output(Rc::clone(name)));
        self.facts.moves(printed, out);
    }

    /// `curl`, `wget` and their like.
    fn transfers(
        &mut self,
        program: &Program<'_>,
        operands: &Operands<'_>,
        (input, names): (At, Option<At>),
        out: At,
    ) {
        let is_wget = program.name == "wget";
        let mut into = INTO.to_vec();
        into.extend(is_wget.then_some("-O"));
        let mut valued = [&SAID[..], &PROOF, &OTHER].concat();
        valued.extend(&into);
        let mut addresses = operands.plain(&valued);
        addresses.extend(names);
        let to = self.gathered(&addresses);
        self.hosts(operands, to);
        let said = operands.after(&SAID);
        let all: Vec<At> = said.iter().map(|(_, value)| *value).collect();
        let data = self.gathered(&all);
        for (text, value) in &said {
            let is_file = text.contains(['@', '<'])
                || operands.has(&["-T", "--upload-file", "--post-file", "--body-file"]);
            if is_file {
                self.facts.loads.push((*value, data));
            }
            if text.ends_with("@-") || *text == "-" || *text == "." {
                self.facts.moves(input, data);
            }
        }
        self.facts.moves(to, data);
        self.sends(program.at, (data, to), false);
        let proof: Vec<At> = operands
            .after(&PROOF)
            .iter()
            .map(|(_, value)| *value)
            .collect();
        let proof = self.gathered(&proof);
        self.sends(program.at, (proof, to), true);
        self.fetches(program.at, to, out);
        for (_, paths) in operands.after(&into) {
            self.facts.stores.push((paths, out));
        }
        let keeps_name = is_wget && operands.after(&into).is_empty()
            || operands.has(&["-O", "--remote-name", "-J"]) && !is_wget;
        if keeps_name {
            let folder = operands.after(&["-P", "--directory-prefix", "--output-dir"]);
            let folder = folder
                .first()
                .map_or(String::new(), |(folder, _)| format!("{folder}/"));
            let names = operands.words.iter().map(|word| self.rendered(word));
            let names: Vec<String> = names.filter(|text| text.contains('/')).collect();
            for text in names {
                let bare = text.split(['?', '#']).next().unwrap_or_default();
                let name = bare.rsplit('/').next().unwrap_or_default();
                if name.len() > 1 {
                    let file = self.facts.file(&format!("{folder}{name}"));
                    self.facts.moves(out, file);
                }
            }
        }
    }

    /// A folder with what somebody else wrote.
    fn clones(&mut self, program: &Program<'_>, operands: &Operands<'_>) {
        let plain = operands.plain(&["-b", "--branch", "--depth", "-C"]);
        let [_, from, into @ ..] = plain.as_slice() else {
            return;
        };
        let got = self.facts.value();
        self.facts.sources.insert(self.facts.fetches.len());
        self.fetches(program.at, *from, got);
        if let Some(into) = into.first() {
            self.facts.stores.push((*into, got));
            return;
        }
        let names: Vec<String> = program
            .args
            .iter()
            .map(|word| self.rendered(word))
            .collect();
        for text in names.iter().filter(|text| text.contains('/')) {
            let name = text.rsplit('/').next().unwrap_or_default();
            let folder = self.facts.file(name.strip_suffix(".git").unwrap_or(name));
            self.facts.moves(got, folder);
        }
    }

    /// The packages that a program installs.
    fn installs(&mut self, program: &Program<'_>) {
        if installs(program).is_none() {
            return;
        }
        let is_npm = matches!(
            program.name,
            "npm" | "pnpm" | "yarn" | "bun" | "npx" | "pnpx" | "bunx"
        );
        let is_pypi = program.is_python()
            || matches!(
                program.name,
                "pip" | "pip3" | "pipx" | "uv" | "uvx" | "poetry"
            );
        if !is_npm && !is_pypi {
            return;
        }
        let verbs = ["install", "i", "add", "tool", "pip", "run", "sync"];
        let names = program.args.iter().filter(|word| {
            word.is_fixed()
                && !verbs.contains(&word.text.as_str())
                && !word.text.starts_with(['-', '.', '/', '@'])
        });
        for word in names {
            let file = self.source.file.to_owned();
            let event = Event {
                file,
                at: word.at,
                what: 0,
            };
            self.facts.packages.push((event, word.text.clone(), is_npm));
        }
    }

    /// The hosts that are named without a scheme.
    fn hosts(&mut self, operands: &Operands<'_>, to: At) {
        for word in operands.words {
            let text = self.rendered(word);
            let host = text.split(['/', ':']).next().unwrap_or_default();
            let host = host.rsplit(['$', '*', '@']).next().unwrap_or_default();
            let host = host.split_once('.').map_or(host, |(first, rest)| {
                if text.starts_with(['$', '*']) {
                    rest
                } else {
                    let _ = first;
                    host
                }
            });
            let is_host = host.contains('.')
                && !host.starts_with(['.', '-'])
                && host.split('.').all(|part| {
                    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                });
            let end = host.rsplit('.').next().unwrap_or_default();
            let is_file = matches!(
                end,
                "sh" | "py"
                    | "json"
                    | "txt"
                    | "md"
                    | "js"
                    | "gz"
                    | "zip"
                    | "html"
                    | "xml"
                    | "yaml"
                    | "yml"
                    | "csv"
                    | "log"
                    | "tgz"
                    | "bin"
            );
            if is_host
                && !is_file
                && !text.contains("://")
                && end.len() >= 2 | end.bytes().all(|b| b.is_ascii_digit()) as usize
            {
                self.facts
                    .labels
                    .push((Label::Address(format!("http://{host}/")), to));
            }
        }
    }

    /// Programs that copy files to other machines.
    fn copies_far(&mut self, program: &Program<'_>, operands: &Operands<'_>, input: At) {
        let plain: Vec<(String, At)> = operands
            .words
            .iter()
            .zip(&operands.values)
            .map(|(word, value)| (self.rendered(word), *value))
            .collect();
        let far: Vec<At> = plain
            .iter()
            .filter(|(text, _)| text.contains([':', '@']))
            .map(|(_, value)| *value)
            .collect();
        let near: Vec<At> = plain
            .iter()
            .filter(|(text, _)| !text.contains([':', '@']))
            .map(|(_, value)| *value)
            .collect();
        let to = self.gathered(&far);
        for (text, _) in plain.iter().filter(|(text, _)| text.contains([':', '@'])) {
            let host = text
                .split(':')
                .next()
                .unwrap_or_default()
                .rsplit('@')
                .next()
                .unwrap_or_default();
            self.facts
                .labels
                .push((Label::Address(format!("http://{host}/")), to));
        }
        if program.name == "ssh" {
            self.sends(program.at, (input, to), false);
            return;
        }
        // The key with which somebody is let in is not sent.
        let keys: Vec<At> = operands
            .after(&["-i", "-e", "-F", "-o"])
            .iter()
            .map(|(_, value)| *value)
            .collect();
        let near: Vec<At> = near.into_iter().filter(|one| !keys.contains(one)).collect();
        let is_upload = operands
            .texts()
            .last()
            .is_some_and(|last| last.contains(':'));
        if is_upload {
            let what = self.loaded(&near);
            self.sends(program.at, (what, to), false);
        }
    }

    fn archives(&mut self, program: &Program<'_>, operands: &Operands<'_>, out: At) {
        let options: Vec<&str> = operands
            .texts()
            .filter(|text| !text.contains('/') && !text.contains('.'))
            .collect();
        let first = options.first().copied().unwrap_or_default();
        let is_tar = program.name == "tar";
        let extracts = match program.name {
            "tar" => first.contains('x') || options.contains(&"--extract"),
            "zip" => false,
            _ => true,
        };
        let mut plain: Vec<(String, At)> = operands
            .words
            .iter()
            .zip(&operands.values)
            .filter(|(word, _)| !word.text.starts_with('-'))
            .map(|(word, value)| (self.rendered(word), *value))
            .collect();
        if is_tar
            && plain
                .first()
                .is_some_and(|(text, _)| !text.contains(['.', '/', '$']))
        {
            plain.remove(0);
        }
        let folder = operands.after(&["-C", "-d", "--directory"]);
        plain.retain(|(_, value)| folder.iter().all(|(_, one)| one != value));
        let Some(((name, archive), files)) = plain.split_first() else {
            return;
        };
        if extracts {
            let what = self.loaded(&[*archive]);
            for (_, into) in &folder {
                self.facts.stores.push((*into, what));
            }
            let stem = [".tar.gz", ".tgz", ".zip", ".tar.xz", ".tar.bz2", ".gz"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            if let Some(stem) = stem {
                let into = self.facts.file(stem);
                self.facts.moves(what, into);
            }
            return;
        }
        let files: Vec<At> = files.iter().map(|(_, value)| *value).collect();
        let what = self.loaded(&files);
        self.packs(program.at, what);
        self.facts.stores.push((*archive, what));
        self.facts.moves(what, out);
    }

    /// Whatever else a program does: it may print what it is given and what it reads.
    fn pass(&mut self, operands: &Operands<'_>, input: At, out: At) {
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
            values.iter().for_each(|from| self.facts.moves(*from, to));
        }
    }

    /// All of these values in one.
    fn gathered(&mut self, values: &[At]) -> At {
        let all = self.facts.value();
        values.iter().for_each(|from| self.facts.moves(*from, all));
        all
    }

    /// What is in the files that values name.
    fn loaded(&mut self, paths: &[At]) -> At {
        let all = self.facts.value();
        paths
            .iter()
            .for_each(|path| self.facts.loads.push((*path, all)));
        all
    }

    fn sends(&mut self, at: usize, (what, to): (At, At), is_proof: bool) {
        let file = self.source.file.to_owned();
        let event = Event { file, at, what };
        self.facts.sends.push(Send {
            event,
            to,
            is_proof,
        });
    }
}
