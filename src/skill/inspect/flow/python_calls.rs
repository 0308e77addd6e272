use std::rc::Rc;

use super::facts::{At, Event, Send};
use super::place::{Label, Place};
use super::python::Program;
use super::shell::{Source, shell};
use super::statements::parts;
use crate::skill::inspect::python::{Kind, Token};
use crate::skill::inspect::rules::reaches_network;

/// An argument: its name, and its tokens.
type Given<'t> = (Option<&'t str>, &'t [Token]);

impl Program<'_, '_> {
    /// What a call gives. `whole` is the whole name of what is called, `first` its first part as it
    /// stands there.
    pub(super) fn call(&mut self, (whole, at): (&str, usize), first: &str, args: &[Token]) -> At {
        let given: Vec<Given<'_>> = parts(args).into_iter().map(named).collect();
        let last = whole.rsplit('.').next().unwrap_or_default();
        let result = self.facts.value();
        let is_net = reaches_network(whole);
        let is_member = whole.contains('.');
        match whole {
            "len" | "bool" | "isinstance" | "print_usage" | "os.path.exists" | "os.path.isfile"
            | "hash" | "id" | "type" => {
                self.all(&given);
            }
            "os.getenv" | "os.environ.get" | "os.environ.pop" | "os.environ.__getitem__" => {
                let key = given.first().and_then(|(_, tokens)| tokens.first());
                if let Some(key) = key.and_then(Token::text) {
                    self.environment(Some(key), result);
                }
            }
            "os.environ.copy" | "os.environ.items" | "os.environ.values" => {
                self.environment(None, result);
            }
            "input" => {
                let from = self
                    .facts
                    .place(Place::Input(Rc::clone(&self.source.scope)));
                self.facts.moves(from, result);
            }
            "print" => {
                let value = self.all(&given);
                let to = self
                    .facts
                    .place(Place::Output(Rc::clone(&self.source.scope)));
                self.facts.moves(value, to);
            }
            "open" | "io.open" | "os.open" => {
                let path = given.first().map(|(_, tokens)| self.value(tokens));
                if let Some(path) = path {
                    self.facts.moves(path, result);
                    self.facts.loads.push((path, result));
                }
            }
            "exec" | "eval" | "runpy.run_path" | "pickle.loads" | "marshal.loads" => {
                let value = self.all(&given);
                self.runs(at, value);
                let file = self.source.file.to_owned();
                let text = Event {
                    file,
                    at,
                    what: value,
                };
                self.facts.texts.push(text);
            }
            _ if whole.starts_with("sys.stdin.") => {
                let from = self
                    .facts
                    .place(Place::Input(Rc::clone(&self.source.scope)));
                self.facts.moves(from, result);
            }
            "urllib.request.urlretrieve" => {
                let mut all = given.iter();
                let from = all.next().map(|(_, tokens)| self.value(tokens));
                let into = all.next().map(|(_, tokens)| self.value(tokens));
                if let (Some(from), Some(into)) = (from, into) {
                    self.fetches(at, from, result);
                    self.facts.stores.push((into, result));
                }
            }
            "os.system" | "os.popen" => self.starts(at, &given, result),
            _ if whole.starts_with("subprocess.") || whole.starts_with("os.exec") => {
                self.starts(at, &given, result);
            }
            _ if is_net || is_member && SENDS.contains(&last) => {
                self.transfers(at, (whole, first), &given, result);
            }
            _ => self.other(at, (whole, first), &given, result),
        }
        result
    }

    /// A function of the skill, or one that gives what it is given.
    fn other(&mut self, at: usize, (whole, first): (&str, &str), given: &[Given<'_>], result: At) {
        let last = whole.rsplit('.').next().unwrap_or_default();
        if self.facts.functions.contains(last) {
            for (number, (name, tokens)) in given.iter().enumerate() {
                let value = self.value(tokens);
                let key = name.map_or_else(|| number.to_string(), str::to_owned);
                let to = self.facts.place(Place::Argument(last.to_owned(), key));
                self.facts.moves(value, to);
            }
            let from = self.facts.place(Place::Result(last.to_owned()));
            self.facts.moves(from, result);
            return;
        }
        let value = self.all(given);
        self.facts.moves(value, result);
        // `shutil.move(a, b)`
        if matches!(
            whole,
            "shutil.move"
                | "shutil.copy"
                | "shutil.copyfile"
                | "shutil.copy2"
                | "os.rename"
                | "os.replace"
        ) && let [(_, from), (_, to)] = given
        {
            let (from, to, held) = (self.value(from), self.value(to), self.facts.value());
            self.facts.loads.push((from, held));
            self.facts.stores.push((to, held));
        }
        if whole == "os.chmod" {
            self.runs(at, value);
        }
        if whole.starts_with("base64.b") && !whole.contains("decode")
            || matches!(
                whole,
                "json.dumps"
                    | "zlib.compress"
                    | "gzip.compress"
                    | "binascii.hexlify"
                    | "pickle.dumps"
            )
        {
            self.packs(at, result);
        }
        if first == whole || !whole.contains('.') || first.is_empty() {
            return;
        }
        let is_own = whole.starts_with(first);
        if !is_own {
            return;
        }
        let receiver = whole.rsplit_once('.').map_or("", |(before, _)| before);
        let mut text = String::from("{");
        text.push_str(receiver);
        text.push('}');
        self.says(&text, false, result);
        let holder = self.facts.value();
        self.says(&text, false, holder);
        match last {
            "write" | "writelines" | "write_text" | "write_bytes" => {
                self.facts.stores.push((holder, value));
            }
            "read" | "readlines" | "read_text" | "read_bytes" => {
                self.facts.loads.push((holder, result));
            }
            "append" | "update" | "extend" | "add" | "insert" | "setdefault" => {
                self.receives(receiver, value);
            }
            _ => {}
        }
    }

    /// Something of the network: it sends what it is given, and gives what is answered.
    fn transfers(
        &mut self,
        at: usize,
        (whole, first): (&str, &str),
        given: &[Given<'_>],
        result: At,
    ) {
        let (mut said, mut proof, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (name, tokens) in given {
            let value = self.value(tokens);
            let is_proof = matches!(
                name,
                Some("headers" | "auth" | "cert" | "cookies" | "api_key" | "token")
            );
            if is_proof { &mut proof } else { &mut said }.push(value);
            all.push(value);
        }
        let to = self.gathered(&all);
        if whole.starts_with(first) {
            let receiver = whole.rsplit_once('.').map_or("", |(before, _)| before);
            self.says(&format!("{{{receiver}}}"), false, to);
        }
        let said = self.gathered(&said);
        let proof = self.gathered(&proof);
        for (what, is_proof) in [(said, false), (proof, true)] {
            let file = self.source.file.to_owned();
            let event = Event { file, at, what };
            self.facts.sends.push(Send {
                event,
                to,
                is_proof,
            });
        }
        self.fetches(at, to, result);
        // A request that is only put together is sent by somebody else.
        if whole.ends_with(".Request") || whole.ends_with("Session") || whole.ends_with("Client") {
            self.facts.moves(to, result);
        }
    }

    /// A program of the system: the command is read as the shell reads it.
    fn starts(&mut self, at: usize, given: &[Given<'_>], result: At) {
        for (name, tokens) in given.iter().skip(1) {
            let value = self.value(tokens);
            if *name == Some("input") {
                self.facts.moves(value, result);
            }
        }
        let Some((_, tokens)) = given.first() else {
            return;
        };
        self.value(tokens);
        let (open, is_list) = match tokens {
            [open, inner @ .., close] if open.is('[') && close.is(']') => (inner, true),
            tokens => (*tokens, false),
        };
        let words: Vec<String> = parts(open)
            .into_iter()
            .map(|part| word(part, is_list))
            .collect();
        let text = words.join(" ");
        // What Python puts into a command has the same names in it.
        let scope = self.scope();
        let source = Source {
            file: self.source.file,
            scope,
            counts: &|_| true,
        };
        let text = text.as_str();
        let printed = shell_with(self, &source, text, at);
        for from in printed {
            self.facts.moves(from, result);
        }
    }

    fn fetches(&mut self, at: usize, from: At, into: At) {
        let label = self.facts.fetch(self.source.file, at, from);
        self.facts.labels.push((label, into));
    }

    fn runs(&mut self, at: usize, what: At) {
        let file = self.source.file.to_owned();
        self.facts.runs.push(Event { file, at, what });
    }

    fn packs(&mut self, at: usize, what: At) {
        let file = self.source.file.to_owned();
        self.facts.labels.push((Label::Packed, what));
        self.facts.packs.push(Event { file, at, what });
    }

    fn all(&mut self, given: &[Given<'_>]) -> At {
        let all: Vec<At> = given.iter().map(|(_, tokens)| self.value(tokens)).collect();
        self.gathered(&all)
    }

    fn gathered(&mut self, values: &[At]) -> At {
        let all = self.facts.value();
        values.iter().for_each(|from| self.facts.moves(*from, all));
        all
    }
}

fn shell_with(
    program: &mut Program<'_, '_>,
    source: &Source<'_>,
    text: &str,
    at: usize,
) -> Vec<At> {
    let depth = program.depth + 1;
    let from = program.facts.runs.len();
    let (fetched, sent) = (program.facts.fetches.len(), program.facts.sends.len());
    let printed = shell(program.facts, source, (text, 0), depth);
    // They stand where the call stands.
    program
        .facts
        .runs
        .iter_mut()
        .skip(from)
        .for_each(|event| event.at = at);
    program
        .facts
        .fetches
        .iter_mut()
        .skip(fetched)
        .for_each(|event| event.at = at);
    program
        .facts
        .sends
        .iter_mut()
        .skip(sent)
        .for_each(|send| send.event.at = at);
    printed
}

/// Members that send, whatever they are members of.
const SENDS: [&str; 9] = [
    "post",
    "put",
    "patch",
    "sendall",
    "sendto",
    "urlopen",
    "send_message",
    "sendmail",
    "storbinary",
];

fn named(part: &[Token]) -> Given<'_> {
    match part {
        [name, is, rest @ ..]
            if name.name().is_some()
                && is.is('=')
                && !rest.first().is_some_and(|next| next.is('=')) =>
        {
            (name.name(), rest)
        }
        _ => (None, part),
    }
}

/// A part of a command as the shell would have it.
fn word(part: &[Token], is_quoted: bool) -> String {
    let mut text = String::new();
    for token in part {
        match &token.kind {
            Kind::Text(said, is_known) => {
                let said = if *is_known {
                    said.to_string()
                } else {
                    said.replace('{', "${")
                };
                text.push_str(&said);
            }
            Kind::Name(name) => {
                text.push_str("${");
                text.push_str(name);
                text.push('}');
            }
            _ => {}
        }
    }
    if is_quoted && !text.contains('"') {
        format!("\"{text}\"")
    } else {
        text
    }
}
