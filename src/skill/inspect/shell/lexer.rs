use super::words::{Command, Pipeline, Shell, Word};

/// How deeply commands may be nested.
pub(super) const DEEPEST: usize = 40;

/// Words that only say how the commands after them hang together.
const KEYWORDS: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time",
    "esac", "function", "coproc", ";;",
];

/// Reads a script. `base` is where the text stands in its file.
pub(in crate::skill::inspect) fn read(text: &str, base: usize) -> Shell {
    let mut reader = Reader::new(text, base, 0);
    while reader.peek().is_some() {
        reader.commands(Vec::new(), false);
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
    /// the first.
    pub(super) fn commands(&mut self, before: Pipeline, is_inner: bool) {
        let mut all = Open {
            pipeline: before,
            command: Command::default(),
        };
        loop {
            self.blanks();
            let Some(c) = self.peek() else { break };
            match c {
                '\n' => {
                    self.line();
                    all.end(&mut self.out.pipelines);
                }
                ';' => {
                    self.at += 1;
                    all.end(&mut self.out.pipelines);
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
                    // What stood before it is a pattern of `case`.
                    all = Open::default();
                }
                '(' => self.parenthesis(&mut all),
                '#' => self.comment(),
                _ if self.redirection(&mut all.command) => {}
                _ => self.next_word(&mut all.command),
            }
        }
        all.end(&mut self.out.pipelines);
    }

    /// A subshell, arithmetic, or the parentheses after the name of a function.
    fn parenthesis(&mut self, all: &mut Open) {
        if self.is_arithmetic() && self.takes("((") {
            self.arithmetic(&mut Word::default());
        } else if all.command.words.is_empty() && all.command.sets.is_empty() {
            self.at += 1;
            let before = std::mem::take(&mut all.pipeline);
            let from = self.out.pipelines.len();
            self.inside(before);
            self.blanks();
            if self.rest().starts_with('|') && !self.rest().starts_with("||") {
                // What they all print goes on.
                let inner = self.out.pipelines.get(from..).unwrap_or_default();
                all.pipeline = inner.iter().flatten().cloned().collect();
            }
        } else {
            self.at += 1;
            self.blanks();
            let _ = self.takes(")");
            all.command = Command::default();
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
    pub(super) fn inside(&mut self, before: Pipeline) {
        if self.depth >= DEEPEST {
            self.out.too_deep = true;
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        self.commands(before, true);
        self.depth -= 1;
    }

    fn blanks(&mut self) {
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
    fn line(&mut self) {
        self.at = self.given.take().unwrap_or(0).max(self.at + 1);
    }

    fn comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn next_word(&mut self, command: &mut Command) {
        if command.words.is_empty()
            && let Some(name) = self.assigned()
        {
            let value = self.value();
            command.at = if command.sets.is_empty() {
                value.at
            } else {
                command.at
            };
            command.sets.push((name, value));
            return;
        }
        let from = self.at;
        let word = self.word();
        if self.at == from {
            // Something that begins no word: it is passed over.
            self.next();
            return;
        }
        let is_first = command.words.is_empty();
        if is_first && !word.is_quoted && KEYWORDS.contains(&word.text.as_str()) {
            return;
        }
        if is_first && word.text == "[[" && !word.is_quoted {
            self.test(command);
        }
        if is_first {
            command.at = word.at;
        }
        command.words.push(word);
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
            after = after.get(end..)?.strip_prefix(']')?;
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

/// What is being read.
#[derive(Default)]
struct Open {
    pipeline: Pipeline,
    command: Command,
}

impl Open {
    fn pipe(&mut self) {
        let command = std::mem::take(&mut self.command);
        if command != Command::default() {
            self.pipeline.push(command);
        }
    }

    fn end(&mut self, out: &mut Vec<Pipeline>) {
        self.pipe();
        let pipeline = std::mem::take(&mut self.pipeline);
        if !pipeline.is_empty() {
            out.push(pipeline);
        }
    }
}
