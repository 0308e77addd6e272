use std::rc::Rc;

use super::{
    lexer::{DEEPEST, ShellLexer},
    words::{CommandWord, UNKNOWN, VariableUse},
};

impl ShellLexer<'_> {
    /// Reads an expansion, or a dollar sign.
    pub(super) fn dollar(&mut self, word: &mut CommandWord, is_quoted: bool) {
        if self.depth >= DEEPEST {
            self.stop_reading();
            return;
        }
        self.depth += 1;
        self.expansion(word, is_quoted);
        self.depth -= 1;
    }

    fn expansion(&mut self, word: &mut CommandWord, is_quoted: bool) {
        let at = self.base + self.at;
        self.at += 1;
        if self.is_arithmetic() && self.takes("((") {
            self.arithmetic(word);
        } else if self.takes("(") {
            let from = self.script.pipelines.len();
            self.read_parenthesized(Rc::from([]));
            self.value_of(word, from);
        } else if self.takes("{") {
            self.parameter(word, at, is_quoted);
        } else if !is_quoted && self.peek() == Some('\'') {
            self.escaped(word);
            return;
        } else if !is_quoted && self.peek() == Some('"') {
            self.double(word);
            return;
        } else {
            let name = self.name();
            if name.is_empty() {
                word.text.push('$');
                return;
            }
            word.variables.push(VariableUse { at, name, is_quoted, ..VariableUse::default() });
        }
        word.text.push(UNKNOWN);
    }

    /// Marks a word as containing the output of the commands from here on.
    fn value_of(&self, word: &mut CommandWord, from: usize) {
        word.has_command = true;
        if let Some([pipeline]) = self.script.pipelines.get(from..)
            && let [command] = pipeline.commands.as_slice()
        {
            word.inner.clone_from(&command.words);
        }
    }

    /// Reads the name of a variable: a word, one digit, or one sign.
    fn name(&mut self) -> String {
        let rest = self.rest();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let long = match rest.chars().next() {
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => 1,
            Some(c) if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => 0,
        };
        self.at += long;
        rest.get(..long).unwrap_or_default().to_owned()
    }

    /// Reads `${…}`, whose brace is read already.
    fn parameter(&mut self, word: &mut CommandWord, at: usize, is_quoted: bool) {
        let is_length = self.rest().starts_with('#') && !self.rest().starts_with("#}");
        let is_other = self.rest().starts_with('!');
        if is_length || is_other {
            self.at += 1;
        }
        let mut name = self.name();
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            while let Some(c) = self.peek().filter(char::is_ascii_digit) {
                self.at += 1;
                name.push(c);
            }
        }
        let mut rest = self.rest();
        if rest.starts_with('[') {
            rest = rest.find(']').and_then(|end| rest.get(end + 1..)).unwrap_or(rest);
        }
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let falls_back = rest.starts_with('-') || rest.starts_with('=');
        let var = VariableUse {
            at,
            name,
            is_quoted: is_quoted || is_length,
            is_guarded: rest.starts_with('?') || falls_back && !rest.starts_with("-}"),
            sets: rest.starts_with('='),
            ..VariableUse::default()
        };
        let from = self.at + self.rest().len() - rest.len();
        let mut inner = self.braced(is_quoted);
        let expansion = self.text.get(from..self.at).unwrap_or_default();
        let said = expansion.strip_suffix('}').unwrap_or(expansion);
        if !var.name.is_empty() {
            let value = said.get(1..).filter(|_| falls_back && inner.is_fixed());
            let skips: Option<usize> = said.parse().ok();
            word.variables.push(VariableUse {
                default: value.map(|value| value.trim_matches(['"', '\'']).to_owned()),
                skips: skips.unwrap_or(0).saturating_sub(1),
                ..var
            });
        }
        word.variables.append(&mut inner.variables);
        word.has_command |= inner.has_command;
    }

    /// Reads the text in braces up to the closing one.
    fn braced(&mut self, is_quoted: bool) -> CommandWord {
        let mut inner = CommandWord::default();
        while let Some(c) = self.peek() {
            if c == '}' {
                self.at += 1;
                break;
            }
            if c == '\'' && is_quoted {
                // In double quotes it is an ordinary character.
                self.at += 1;
            } else {
                self.piece(&mut inner, c);
            }
        }
        inner
    }

    /// Reads arithmetic, whose two parentheses are read already.
    pub(super) fn arithmetic(&mut self, word: &mut CommandWord) {
        let mut open = 0_usize;
        let mut inner = CommandWord::default();
        let mut last = ' ';
        while let Some(c) = self.peek() {
            if open == 0 && self.takes("))") {
                break;
            }
            match c {
                '(' => open += 1,
                ')' => open = open.saturating_sub(1),
                '\n' if self.documents_end.is_some() => break,
                '$' | '`' | '"' | '\\' => {
                    self.piece(&mut inner, c);
                    last = UNKNOWN;
                    continue;
                }
                c if begins_name(c) && !last.is_ascii_alphanumeric() && !"_#\0".contains(last) => {
                    self.arithmetic_variable();
                    last = 'a';
                    continue;
                }
                _ => {}
            }
            last = c;
            self.at += c.len_utf8();
        }
        // The result is a number, whatever the operands.
        for var in &mut inner.variables {
            var.is_quoted = true;
        }
        word.has_command |= inner.has_command;
        self.script.variables.append(&mut inner.variables);
    }

    /// Reads a variable in arithmetic, where it needs no `$`: set or read.
    fn arithmetic_variable(&mut self) {
        let (from, before) = (self.at, self.text.get(..self.at).unwrap_or_default());
        let name = self.name();
        let rest = self.rest();
        let end = rest.find(']').filter(|_| rest.starts_with('['));
        let after = end.and_then(|end| rest.get(end + 1..)).unwrap_or(rest);
        if let Some(end) = end {
            // An index may be the key of an associative array: it is not a variable that is read.
            self.at += end + 1;
        }
        let after = after.trim_start();
        let signs = after.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
        let is_set = signs.starts_with('=')
            && !signs.starts_with("==")
            && !matches!(after.get(..2), Some("<=" | ">="))
            || after.starts_with("++")
            || after.starts_with("--")
            || before.ends_with("++")
            || before.ends_with("--");
        self.script.variables.push(VariableUse {
            at: self.base + from,
            name,
            is_quoted: true,
            sets: is_set,
            ..VariableUse::default()
        });
    }

    /// Reads `$'…'`: with escapes for bytes, its text is treated as unknown.
    fn escaped(&mut self, word: &mut CommandWord) {
        self.at += 1;
        word.is_quoted = true;
        while let Some(c) = self.next() {
            match c {
                '\'' => return,
                '\\' => match self.next() {
                    Some('x' | 'u' | 'U' | '0'..='7' | 'c') => {
                        word.has_command = true;
                        word.text.push(UNKNOWN);
                    }
                    Some('n') => word.text.push('\n'),
                    Some('t') => word.text.push('\t'),
                    Some(c) => word.text.push(c),
                    None => return,
                },
                c => word.text.push(c),
            }
        }
    }

    pub(super) fn backticks(&mut self, word: &mut CommandWord) {
        self.at += 1;
        let from = self.at;
        let mut inner = String::new();
        while let Some(c) = self.next() {
            match c {
                '`' => break,
                '\\' => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c) => inner.extend(['\\', c]),
                    None => break,
                },
                c => inner.push(c),
            }
        }
        let begin = self.script.pipelines.len();
        self.read_nested_text(&inner, self.base + from);
        self.value_of(word, begin);
        word.text.push(UNKNOWN);
    }

    /// Reads commands in a text of their own.
    fn read_nested_text(&mut self, text: &str, base: usize) {
        let mut reader = ShellLexer::new(text, base, self.depth + 1);
        reader.function.clone_from(&self.function);
        while reader.peek().is_some() {
            reader.read_parenthesized(Rc::from([]));
        }
        self.script.pipelines.append(&mut reader.script.pipelines);
        self.script.variables.append(&mut reader.script.variables);
        self.script.too_deep |= reader.script.too_deep;
    }
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}
