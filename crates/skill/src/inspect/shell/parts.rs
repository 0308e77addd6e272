use std::rc::Rc;

use super::{
    lexer::ShellLexer,
    words::{CommandWord, UNKNOWN},
};

impl ShellLexer<'_> {
    pub(super) fn word(&mut self) -> CommandWord {
        let mut word = CommandWord { at: self.base + self.at, ..CommandWord::default() };
        if self.takes("<(") || self.takes(">(") {
            self.read_parenthesized(Rc::from([]));
            word.has_command = true;
            word.text.push(UNKNOWN);
        }
        while let Some(c) = self.peek() {
            match c {
                '(' if word.text.ends_with('=') => self.list(&mut word),
                '(' if word.text.ends_with(['?', '*', '+', '@', '!']) => self.choice(&mut word),
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                _ => self.piece(&mut word, c),
            }
        }
        word
    }

    /// Reads one character, quotation or expansion outside of quotes.
    pub(super) fn piece(&mut self, word: &mut CommandWord, c: char) {
        match c {
            '\\' => {
                self.at += 1;
                match self.next() {
                    Some('\n') | None => {}
                    Some(c) => word.text.push(c),
                }
            }
            '\'' => {
                self.at += 1;
                word.is_quoted = true;
                let rest = self.rest();
                let long = rest.find('\'').unwrap_or(rest.len());
                word.text.push_str(rest.get(..long).unwrap_or_default());
                self.at = (self.at + long + 1).min(self.text.len());
            }
            '"' => self.double(word),
            '$' => self.dollar(word, false),
            '`' => self.backticks(word),
            c => {
                self.at += c.len_utf8();
                word.text.push(c);
            }
        }
    }

    pub(super) fn double(&mut self, word: &mut CommandWord) {
        self.at += 1;
        word.is_quoted = true;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') | None => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => word.text.extend(['\\', c]),
                    }
                }
                '$' => self.dollar(word, true),
                '`' => self.backticks(word),
                c => {
                    self.at += c.len_utf8();
                    word.text.push(c);
                }
            }
        }
    }

    /// Reads the alternatives of a pattern: `@(a|b)`.
    fn choice(&mut self, word: &mut CommandWord) {
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '\n' => return,
                '(' => open += 1,
                ')' => open -= 1,
                ' ' | '|' => {}
                c => {
                    self.piece(word, c);
                    continue;
                }
            }
            self.at += c.len_utf8();
            word.text.push(c);
            if open == 0 {
                return;
            }
        }
    }

    /// Reads a list in parentheses: all of it belongs to one word.
    pub(super) fn list(&mut self, word: &mut CommandWord) {
        self.at += 1;
        word.text.push(UNKNOWN);
        while let Some(c) = self.peek() {
            match c {
                ')' => {
                    self.at += 1;
                    return;
                }
                '#' => self.comment(),
                '\n' => self.line(),
                ' ' | '\t' | '\r' | ';' | '&' | '|' | '(' => self.at += 1,
                _ => {
                    let from = self.at;
                    let mut item = self.word();
                    if self.at == from {
                        self.next();
                        continue;
                    }
                    word.variables.extend(item.variables.iter().cloned());
                    word.has_command |= item.has_command;
                    if let Some(value) = item.text.split_once("]=").filter(|_| item.text.starts_with('[')) {
                        item.text = value.1.into();
                    }
                    word.items.push(item);
                }
            }
        }
    }
}
