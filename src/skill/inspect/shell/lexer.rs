use std::rc::Rc;

use super::groups::Open;
use super::words::{Command, Shell, Word};

/// How deeply commands may be nested.
pub(super) const DEEPEST: usize = 40;

/// Reads a script. `base` is where the text stands in its file.
pub(in crate::skill::inspect) fn read(text: &str, base: usize) -> Shell {
    let mut reader = Reader::new(text, base, 0);
    while reader.peek().is_some() {
        reader.commands(Rc::from([]), false);
    }
    reader.out
}

/// Whoever reads a script.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) base: usize,
    pub(super) depth: usize,
    pub(super) out: Shell,
    /// Where the text ends that the commands of this line are given to read.
    pub(super) given: Option<usize>,
    /// The function whose body is read.
    pub(super) function: Option<Rc<str>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, base: usize, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            base,
            depth,
            out: Shell::default(),
            given: None,
            function: None,
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn takes(&mut self, what: &str) -> bool {
        let is_there = self.rest().starts_with(what);
        if is_there {
            self.at += what.len();
        }
        is_there
    }

    /// Reads commands to the end, or to the `)` that closes them. `before` is what is piped into
    /// them.
    pub(super) fn commands(&mut self, before: Rc<[Command]>, is_inner: bool) {
        let mut all = Open::new(before);
        loop {
            self.blanks();
            if all.is_at_pattern() {
                self.pattern(&mut all);
                continue;
            }
            let Some(c) = self.peek() else { break };
            match c {
                '\n' => {
                    self.line();
                    all.end(&mut self.out.pipelines);
                }
                ';' => {
                    self.at += 1;
                    all.end(&mut self.out.pipelines);
                    if self.takes(";&") || self.takes(";") || self.takes("&") {
                        all.next_pattern();
                    }
                }
                '&' if !self.rest().starts_with("&>") => {
                    self.at += if self.rest().starts_with("&&") { 2 } else { 1 };
                    all.end(&mut self.out.pipelines);
                }
                '|' if self.takes("||") => all.end(&mut self.out.pipelines),
                '|' => {
                    let _ = self.takes("|&") || self.takes("|");
                    all.pipe();
                }
                ')' => {
                    self.at += 1;
                    if is_inner {
                        break;
                    }
                    // It closes nothing: what stood before it is as good as a pattern.
                    all.command = Command::default();
                }
                '(' => self.parenthesis(&mut all),
                '#' => self.comment(),
                _ if self.redirection(&mut all.command) => {}
                _ => self.next_word(&mut all),
            }
        }
        all.end(&mut self.out.pipelines);
        while all.close(&mut self.out.pipelines, &mut self.function) {}
    }

    /// A subshell, arithmetic, or the parentheses after the name of a function.
    fn parenthesis(&mut self, all: &mut Open) {
        let is_first = all.command.words.is_empty() && all.command.sets.is_empty();
        if self.is_arithmetic() && self.takes("((") {
            self.arithmetic(&mut Word::default());
        } else if is_first {
            self.at += 1;
            let outer = self.function.clone();
            self.function = all.named.take().or(outer.clone());
            let before = all.piped(&mut self.out.pipelines);
            let from = self.out.pipelines.len();
            self.inside(before);
            self.function = outer;
            self.goes_on(all, from);
        } else {
            self.at += 1;
            self.blanks();
            let _ = self.takes(")");
            let name = all.command.words.first().map(|word| word.text.as_str());
            all.named = name.map(Rc::from);
            all.command = Command::default();
        }
    }

    /// What the commands of a group print goes on, if a pipe follows.
    pub(super) fn goes_on(&mut self, all: &mut Open, from: usize) {
        self.blanks();
        if self.rest().starts_with('|') && !self.rest().starts_with("||") {
            all.joined(self.out.pipelines.get(from..).unwrap_or_default());
        }
    }

    /// Whether the two parentheses here are closed together: else they are subshells.
    pub(super) fn is_arithmetic(&self) -> bool {
        let Some(rest) = self.rest().strip_prefix("((") else {
            return false;
        };
        let mut open = 2_usize;
        let mut quote = None;
        let mut bytes = rest.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match (quote, byte) {
                (_, b'\\') => drop(bytes.next()),
                (Some(end), byte) if end == byte => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'(') => open += 1,
                (None, b')') if open == 2 => return bytes.peek() == Some(&b')'),
                (None, b')') => open -= 1,
                _ => {}
            }
        }
        false
    }

    /// Commands up to a `)`.
    pub(super) fn inside(&mut self, before: Rc<[Command]>) {
        if self.depth >= DEEPEST {
            self.gives_up();
            return;
        }
        self.depth += 1;
        self.commands(before, true);
        self.depth -= 1;
    }

    /// Reads no further: it is nested too deeply.
    pub(super) fn gives_up(&mut self) {
        self.out.too_deep = true;
        self.at = self.text.len();
    }

    pub(super) fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let joined = ["\\\n", "\\\r\n"]
                .into_iter()
                .find(|end| rest.starts_with(end));
            match (joined, rest.chars().next()) {
                (Some(end), _) => self.at += end.len(),
                (_, Some(' ' | '\t' | '\r')) => self.at += 1,
                _ => return,
            }
        }
    }

    /// The end of a line, and what its commands are given to read.
    pub(super) fn line(&mut self) {
        self.at = self.given.take().unwrap_or(0).max(self.at + 1);
    }

    pub(super) fn comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn next_word(&mut self, all: &mut Open) {
        let command = &mut all.command;
        let is_first = command.words.is_empty();
        if (is_first || declares(command))
            && let Some(name) = self.assigned()
        {
            let is_appended = self.text.get(..self.at).unwrap_or_default().ends_with("+=");
            let value = Word {
                is_appended,
                ..self.value()
            };
            if is_first && command.sets.is_empty() {
                command.at = value.at;
                command.function.clone_from(&self.function);
            }
            command.sets.push((name, value));
            return;
        }
        let is_bare = is_first && command.sets.is_empty();
        let from = self.at;
        let word = self.word();
        if self.at == from {
            // Something that begins no word: it is passed over.
            self.next();
            return;
        }
        if is_bare && !word.is_quoted && self.keyword(all, &word.text) {
            return;
        }
        let command = &mut all.command;
        let is_test = is_first && word.text == "[[" && !word.is_quoted;
        if is_first {
            command.at = word.at;
            command.function.clone_from(&self.function);
        }
        command.words.push(word);
        if is_test {
            self.test(command);
        }
    }

    /// The words of `[[ ]]`, in which signs have another meaning.
    fn test(&mut self, command: &mut Command) {
        while let Some(c) = self.peek() {
            match c {
                '\n' => self.line(),
                ' ' | '\t' | '\r' | '&' | '|' | '(' | ')' | '<' | '>' | ';' => self.at += 1,
                _ => {
                    let word = self.word();
                    if word.text == "]]" {
                        return;
                    }
                    command.words.push(word);
                }
            }
        }
    }

    /// The name that is set here, if one is: `NAME=`, `NAME+=`, `NAME[…]=`.
    fn assigned(&mut self) -> Option<String> {
        let rest = self.rest();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let long = rest.find(|c| !is_word(c))?;
        let name = rest
            .get(..long)
            .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))?;
        let mut after = rest.get(long..)?;
        if after.starts_with('[') {
            let end = after.find([']', '\n'])?;
            after = after.get(end..)?.trim_start_matches(']');
        }
        let after = after
            .strip_prefix("+=")
            .or_else(|| after.strip_prefix('='))?;
        self.at += rest.len() - after.len();
        Some(name.to_owned())
    }

    /// A value that is set: a word, perhaps none, or a list in parentheses.
    fn value(&mut self) -> Word {
        if self.peek() != Some('(') {
            return self.word();
        }
        let mut list = Word {
            at: self.base + self.at,
            ..Word::default()
        };
        self.list(&mut list);
        list
    }
}

/// Whether the arguments of a command set variables, as `local a="$1"` does.
fn declares(command: &Command) -> bool {
    let first = command.words.first().filter(|first| !first.is_quoted);
    first.is_some_and(|first| DECLARING.contains(&first.text.as_str()))
}

/// What sets the variables that are its arguments.
pub(in crate::skill::inspect) const DECLARING: [&str; 5] =
    ["export", "local", "readonly", "declare", "typeset"];
