use std::rc::Rc;

use super::{
    facts::{ValuePlaceIx, ValueSend},
    place::ValuePlace,
    python::PythonFactReader,
    shell::{CommandSource, shell},
};
use crate::inspect::{
    python::{ScriptToken, ScriptTokenKind, arguments},
    rules::reaches_network,
};

/// An argument: its name, and its tokens.
type PythonArgument<'t> = (Option<&'t str>, &'t [ScriptToken]);

/// A call of a function.
struct PythonCall<'t> {
    /// Its full name, including its module.
    whole: &'t str,
    /// The first part of its name as written.
    first: &'t str,
    /// Its offset, in bytes.
    at: usize,
    arguments: Vec<PythonArgument<'t>>,
    result: ValuePlaceIx,
}

impl PythonCall<'_> {
    fn last(&self) -> &str {
        self.whole.rsplit('.').next().unwrap_or_default()
    }

    /// Returns the variable, or the member of one, whose member is called.
    fn receiver(&self) -> Option<&str> {
        let (receiver, _) = self.whole.rsplit_once('.')?;
        let is_own = !self.first.is_empty() && self.whole.starts_with(self.first);
        is_own.then_some(receiver)
    }
}

/// Functions whose results reveal nothing about their arguments.
const QUIET: [&str; 8] =
    ["len", "bool", "isinstance", "os.path.exists", "os.path.isfile", "hash", "id", "type"];

/// Functions that execute their argument as code.
const EXECUTES: [&str; 5] = ["exec", "eval", "runpy.run_path", "pickle.loads", "marshal.loads"];

/// Functions that copy or move a file.
const COPIES: [&str; 6] =
    ["shutil.move", "shutil.copy", "shutil.copyfile", "shutil.copy2", "os.rename", "os.replace"];

/// Functions that encode or pack their arguments.
const PACKS: [&str; 5] = ["json.dumps", "zlib.compress", "gzip.compress", "binascii.hexlify", "pickle.dumps"];

/// Members that send data, on any object.
const SENDS: [&str; 9] =
    ["post", "put", "patch", "sendall", "sendto", "urlopen", "send_message", "sendmail", "storbinary"];

/// Names of arguments that authenticate the request.
const PROOF: [&str; 6] = ["headers", "auth", "cert", "cookies", "api_key", "token"];

impl PythonFactReader<'_, '_> {
    /// Returns the result of a call. `whole` is the full name of the called function, `first` its
    /// first part as written.
    pub(super) fn call(&mut self, whole: &str, at: usize, first: &str, args: &[ScriptToken]) -> ValuePlaceIx {
        let result = self.facts.value();
        let call = PythonCall {
            whole,
            first,
            at,
            arguments: arguments(args).into_iter().map(named).collect(),
            result,
        };
        let starts = ["subprocess.", "os.exec", "os.system", "os.popen"];
        let sends = whole.contains('.') && SENDS.contains(&call.last());
        if QUIET.contains(&whole) {
            self.all(&call);
        } else if EXECUTES.contains(&whole) {
            let content = self.all(&call);
            let event = self.source.event(at, content);
            self.facts.run_events.push(event.clone());
            self.facts.text_events.push(event);
        } else if starts.iter().any(|begin| whole.starts_with(begin)) {
            self.starts(&call);
        } else if whole == "urllib.request.urlretrieve" {
            self.retrieves(&call);
        } else if reaches_network(whole) || sends {
            self.transfers(&call);
        } else if !self.reads(&call) {
            self.other(&call);
        }
        result
    }

    /// Handles functions reading the environment, the input or a file; true if this is one.
    fn reads(&mut self, call: &PythonCall<'_>) -> bool {
        let result = call.result;
        match call.whole {
            "os.getenv" | "os.environ.get" | "os.environ.pop" => {
                let key = call.arguments.first().and_then(|(_, tokens)| tokens.first());
                if let Some(key) = key.and_then(ScriptToken::text) {
                    self.environment(Some(key), result);
                }
            }
            "os.environ.copy" | "os.environ.items" | "os.environ.values" => {
                self.environment(None, result);
            }
            "print" => {
                let value = self.all(call);
                self.facts.move_to(value, ValuePlace::Output(Rc::clone(&self.source.scope)));
            }
            "open" | "io.open" => {
                if let Some((_, tokens)) = call.arguments.first() {
                    let path = self.value(tokens);
                    self.facts.moves(path, result);
                    self.facts.loads.push((path, result));
                }
            }
            whole if whole == "input" || whole.starts_with("sys.stdin.") => {
                self.facts.move_from(ValuePlace::Input(Rc::clone(&self.source.scope)), result);
            }
            _ => return false,
        }
        true
    }

    /// Handles a function of the skill, or one whose result is its arguments.
    fn other(&mut self, call: &PythonCall<'_>) {
        let last = call.last();
        if self.facts.functions.contains(last) {
            for (number, (name, tokens)) in call.arguments.iter().enumerate() {
                let value = self.value(tokens);
                let key = name.map_or_else(|| number.to_string(), str::to_owned);
                self.facts.move_to(value, ValuePlace::Argument(last.to_owned(), key));
            }
            self.facts.move_from(ValuePlace::Result(last.to_owned()), call.result);
            return;
        }
        let value = self.all(call);
        self.facts.moves(value, call.result);
        if COPIES.contains(&call.whole)
            && let [(_, from), (_, to)] = call.arguments.as_slice()
        {
            let (from, to, content) = (self.value(from), self.value(to), self.facts.value());
            self.facts.loads.push((from, content));
            self.facts.stores.push((to, content));
        }
        if call.whole == "os.chmod" {
            let event = self.source.event(call.at, value);
            self.facts.run_events.push(event);
        }
        let encodes = call.whole.starts_with("base64.") && !call.whole.contains("decode");
        if encodes || PACKS.contains(&call.whole) {
            self.facts.pack(self.source.event(call.at, call.result));
        }
        self.member_of(call, value);
    }

    /// Handles a member of a variable: it returns the variable's value, and may change it.
    fn member_of(&mut self, call: &PythonCall<'_>, value: ValuePlaceIx) {
        let Some(receiver) = call.receiver() else {
            return;
        };
        let holder = self.facts.value();
        self.record_literal(&format!("{{{receiver}}}"), false, holder);
        self.facts.moves(holder, call.result);
        match call.last() {
            "write" | "writelines" | "write_text" | "write_bytes" => {
                self.facts.stores.push((holder, value));
            }
            "read" | "readlines" | "read_text" | "read_bytes" => {
                self.facts.loads.push((holder, call.result));
            }
            "append" | "update" | "extend" | "add" | "insert" | "setdefault" => {
                self.receives(receiver, value);
            }
            _ => {}
        }
    }

    /// Handles a network call: it sends its arguments, and returns the response.
    fn transfers(&mut self, call: &PythonCall<'_>) {
        let (mut addresses, mut proof) = (Vec::new(), Vec::new());
        for (name, tokens) in &call.arguments {
            let value = self.value(tokens);
            let is_proof = name.is_some_and(|name| PROOF.contains(&name));
            if is_proof { &mut proof } else { &mut addresses }.push(value);
        }
        let to = self.facts.gathered(&addresses);
        if let Some(receiver) = call.receiver() {
            self.record_literal(&format!("{{{receiver}}}"), false, to);
        }
        let said = self.facts.gathered(&addresses);
        let proof = self.facts.gathered(&proof);
        for (content, is_proof) in [(said, false), (proof, true)] {
            let event = self.source.event(call.at, content);
            self.facts.sends.push(ValueSend { event, destination: to, is_proof });
        }
        self.facts.fetch(self.source.event(call.at, to), call.result);
        // A request that is only constructed is sent by another call.
        if call.last() == "Request" {
            self.facts.moves(to, call.result);
        }
    }

    /// Handles `urlretrieve(address, path)`.
    fn retrieves(&mut self, call: &PythonCall<'_>) {
        if let [(_, from), (_, into), ..] = call.arguments.as_slice() {
            let (from, into) = (self.value(from), self.value(into));
            self.facts.fetch(self.source.event(call.at, from), call.result);
            self.facts.stores.push((into, call.result));
        }
    }

    /// Handles the start of a program: the command is read as the shell reads it.
    fn starts(&mut self, call: &PythonCall<'_>) {
        for (name, tokens) in call.arguments.iter().skip(1) {
            let value = self.value(tokens);
            if *name == Some("input") {
                self.facts.moves(value, call.result);
            }
        }
        let Some((_, tokens)) = call.arguments.first() else {
            return;
        };
        self.value(tokens);
        let words: Vec<String> = match tokens {
            [open, inner @ .., close] if open.is('[') && close.is(']') => {
                let words = arguments(inner).into_iter().map(word);
                words.map(|word| quoted(&word)).collect()
            }
            tokens => arguments(tokens).into_iter().map(word).collect(),
        };
        // Values that Python inserts into a command keep their names there.
        let source = CommandSource { file: self.source.file, scope: self.scope(), counts: &|_| true };
        let (ran, fetched) = (self.facts.run_events.len(), self.facts.fetch_events.len());
        let sent = self.facts.sends.len();
        let text = (words.join(" "), 0);
        for from in shell(self.facts, &source, &text.0, text.1, self.depth + 1) {
            self.facts.moves(from, call.result);
        }
        // All events of the command are located at the call.
        let runs = self.facts.run_events.iter_mut().skip(ran);
        let fetches = self.facts.fetch_events.iter_mut().skip(fetched);
        let sends = self.facts.sends.iter_mut().skip(sent);
        let sends = sends.map(|send| &mut send.event);
        for event in runs.chain(fetches).chain(sends) {
            event.at = call.at;
        }
    }

    fn all(&mut self, call: &PythonCall<'_>) -> ValuePlaceIx {
        let values: Vec<ValuePlaceIx> = call.arguments.iter().map(|(_, tokens)| self.value(tokens)).collect();
        self.facts.gathered(&values)
    }
}

fn named(tokens: &[ScriptToken]) -> PythonArgument<'_> {
    match tokens {
        [name, is, next, ..] if name.name().is_some() && is.is('=') && !next.is('=') => {
            (name.name(), tokens.get(2..).unwrap_or_default())
        }
        _ => (None, tokens),
    }
}

/// Converts a part of a command to shell syntax: a name becomes a variable.
fn word(tokens: &[ScriptToken]) -> String {
    let text = |token: &ScriptToken| match &token.kind {
        ScriptTokenKind::Text(said, true) => said.to_string(),
        ScriptTokenKind::Text(said, false) => said.replace('{', "${"),
        ScriptTokenKind::Name(name) => format!("${{{name}}}"),
        _ => String::new(),
    };
    tokens.iter().map(text).collect()
}

fn quoted(word: &str) -> String {
    if word.contains('"') { word.to_owned() } else { format!("\"{word}\"") }
}
