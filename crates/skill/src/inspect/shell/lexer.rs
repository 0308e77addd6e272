use std::rc::Rc;

use super::{
    documents,
    groups::{self, OpenPipeline},
    words::{CommandWord, ParsedShellScript, ShellCommand},
};

/// The maximum nesting of commands.
pub(super) const DEEPEST: usize = 40;

/// Reads a script. `base` is the offset of the text in its file.
pub(in crate::inspect) fn read_script(text: &str, base: usize) -> ParsedShellScript {
    let mut reader = ShellLexer::new(text, base, 0);
    while reader.peek().is_some() {
        reader.commands(Rc::from([]), false);
    }
    reader.script
}

/// A reader of a script.
pub(super) struct ShellLexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) base: usize,
    pub(super) depth: usize,
    pub(super) script: ParsedShellScript,
    /// The end of the here-documents of this line.
    pub(super) documents_end: Option<usize>,
    /// The function whose body is read.
    pub(super) function: Option<Rc<str>>,
}

impl<'a> ShellLexer<'a> {
    pub(super) fn new(text: &'a str, base: usize, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            base,
            depth,
            script: ParsedShellScript::default(),
            documents_end: None,
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

    pub(super) fn takes(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    /// Reads commands to the end, or to the `)` that closes them. `before` are the commands piped
    /// into them.
    pub(super) fn commands(&mut self, before: Rc<[ShellCommand]>, is_inner: bool) {
        let mut pipeline = OpenPipeline::new(before);
        loop {
            self.blanks();
            if pipeline.is_at_pattern() {
                groups::pattern(self, &mut pipeline);
                continue;
            }
            let Some(c) = self.peek() else { break };
            match c {
                '\n' => {
                    self.line();
                    pipeline.end(&mut self.script.pipelines);
                }
                ';' => {
                    self.at += 1;
                    pipeline.end(&mut self.script.pipelines);
                    if self.takes(";&") || self.takes(";") || self.takes("&") {
                        pipeline.next_pattern();
                    }
                }
                '&' if !self.rest().starts_with("&>") => {
                    self.at += if self.rest().starts_with("&&") { 2 } else { 1 };
                    pipeline.end(&mut self.script.pipelines);
                }
                '|' if self.takes("||") => pipeline.end(&mut self.script.pipelines),
                '|' => {
                    let _ = self.takes("|&") || self.takes("|");
                    pipeline.pipe();
                }
                ')' => {
                    self.at += 1;
                    if is_inner {
                        break;
                    }
                    // It closes nothing: the text before it is treated as a pattern.
                    pipeline.command = ShellCommand::default();
                }
                '(' => self.parenthesis(&mut pipeline),
                '#' => self.comment(),
                _ if documents::redirection(self, &mut pipeline.command) => {}
                _ => self.next_word(&mut pipeline),
            }
        }
        pipeline.end(&mut self.script.pipelines);
        while pipeline.close(&mut self.script.pipelines, &mut self.function) {}
    }

    /// Reads a subshell, arithmetic, or the parentheses after the name of a function.
    fn parenthesis(&mut self, pipeline: &mut OpenPipeline) {
        let is_first = pipeline.command.words.is_empty() && pipeline.command.sets.is_empty();
        if self.is_arithmetic() && self.takes("((") {
            self.arithmetic(&mut CommandWord::default());
        } else if is_first {
            self.at += 1;
            let outer = self.function.clone();
            self.function = pipeline.named.take().or(outer.clone());
            let before = pipeline.piped(&mut self.script.pipelines);
            let from = self.script.pipelines.len();
            self.read_parenthesized(before);
            self.function = outer;
            self.pass_output(pipeline, from);
        } else {
            self.at += 1;
            self.blanks();
            let _ = self.takes(")");
            let name = pipeline.command.words.first().map(|word| word.text.as_str());
            pipeline.named = name.map(Rc::from);
            pipeline.command = ShellCommand::default();
        }
    }

    /// Passes on the output of a group's commands, if a pipe follows.
    pub(super) fn pass_output(&mut self, pipeline: &mut OpenPipeline, from: usize) {
        self.blanks();
        if self.rest().starts_with('|') && !self.rest().starts_with("||") {
            pipeline.joined(self.script.pipelines.get(from..).unwrap_or_default());
        }
    }

    /// True if the two parentheses here are closed together: otherwise they are subshells.
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

    /// Reads commands up to a `)`.
    pub(super) fn read_parenthesized(&mut self, before: Rc<[ShellCommand]>) {
        if self.depth >= DEEPEST {
            self.stop_reading();
            return;
        }
        self.depth += 1;
        self.commands(before, true);
        self.depth -= 1;
    }

    /// Stops reading: the nesting is too deep.
    pub(super) fn stop_reading(&mut self) {
        self.script.too_deep = true;
        self.at = self.text.len();
    }

    pub(super) fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let joined = ["\\\n", "\\\r\n"].into_iter().find(|end| rest.starts_with(end));
            match (joined, rest.chars().next()) {
                (Some(end), _) => self.at += end.len(),
                (_, Some(' ' | '\t' | '\r')) => self.at += 1,
                _ => return,
            }
        }
    }

    /// Reads the end of a line, and the here-documents of its commands.
    pub(super) fn line(&mut self) {
        self.at = self.documents_end.take().unwrap_or(0).max(self.at + 1);
    }

    pub(super) fn comment(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn next_word(&mut self, pipeline: &mut OpenPipeline) {
        let command = &mut pipeline.command;
        let is_first = command.words.is_empty();
        if (is_first || declares(command))
            && let Some(name) = self.assigned_name()
        {
            let is_appended = self.text.get(..self.at).unwrap_or_default().ends_with("+=");
            let value = CommandWord { is_appended, ..self.value() };
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
            // A character that begins no word: it is skipped.
            self.next();
            return;
        }
        if is_bare && !word.is_quoted && groups::keyword(self, pipeline, &word.text) {
            return;
        }
        let command = &mut pipeline.command;
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

    /// Reads the words of `[[ ]]`, where signs have another meaning.
    fn test(&mut self, command: &mut ShellCommand) {
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

    /// Returns the name that is set here, if any: `NAME=`, `NAME+=`, `NAME[…]=`.
    fn assigned_name(&mut self) -> Option<String> {
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
        let after = after.strip_prefix("+=").or_else(|| after.strip_prefix('='))?;
        self.at += rest.len() - after.len();
        Some(name.to_owned())
    }

    /// Reads an assigned value: a word, perhaps empty, or a list in parentheses.
    fn value(&mut self) -> CommandWord {
        if self.peek() != Some('(') {
            return self.word();
        }
        let mut list = CommandWord { at: self.base + self.at, ..CommandWord::default() };
        self.list(&mut list);
        list
    }
}

/// True if the arguments of a command set variables, as `local a="$1"` does.
fn declares(command: &ShellCommand) -> bool {
    let first = command.words.first().filter(|first| !first.is_quoted);
    first.is_some_and(|first| DECLARING.contains(&first.text.as_str()))
}

/// Commands that set the variables in their arguments.
pub(in crate::inspect) const DECLARING: [&str; 5] = ["export", "local", "readonly", "declare", "typeset"];
