//! Quotes, variables, and commands inside of words.

use super::{Event, Part, Reader, Target, read};

impl Reader {
    pub(super) fn comment(&mut self) {
        while self.peek().is_some_and(|next| next != '\n') {
            self.at += 1;
        }
    }

    pub(super) fn quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(next) = self.next().filter(|next| *next != '\'') {
            self.push(next);
        }
    }

    pub(super) fn double(&mut self) {
        self.word.get_or_insert_default();
        while let Some(next) = self.next() {
            match next {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(text @ ('"' | '\\' | '$' | '`')) => self.push(text),
                    Some(text) => {
                        self.push('\\');
                        self.push(text);
                    }
                },
                '$' => self.dollar(),
                '`' => self.backticks(),
                text => self.push(text),
            }
        }
    }

    pub(super) fn dollar(&mut self) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                if self.eat('(') {
                    self.skip_balanced(2);
                } else {
                    self.inside();
                }
                self.part(Part::Unknown);
            }
            Some('{') => {
                self.at += 1;
                self.braces();
            }
            Some('\'') => {
                self.at += 1;
                self.quoted();
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.name();
                self.part(Part::Var(name));
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => {
                self.at += 1;
                self.part(Part::Unknown);
            }
            _ => self.push('$'),
        }
    }

    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self
            .peek()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            name.push(c);
            self.at += 1;
        }
        name
    }

    pub(super) fn braces(&mut self) {
        let name = self.name();
        if self.eat('}') {
            self.part(Part::Var(name));
            return;
        }
        let mut depth = 1;
        while let Some(next) = self.next() {
            depth += i32::from(next == '{') - i32::from(next == '}');
            if depth == 0 {
                break;
            }
        }
        self.part(Part::Unknown);
    }

    pub(super) fn skip_balanced(&mut self, mut depth: i32) {
        while let Some(next) = self.next() {
            depth += i32::from(next == '(') - i32::from(next == ')');
            if depth == 0 {
                break;
            }
        }
    }

    pub(super) fn backticks(&mut self) {
        let mut inner = String::new();
        while let Some(next) = self.next().filter(|next| *next != '`') {
            inner.push(next);
            if next == '\\' {
                inner.extend(self.next());
            }
        }
        self.events.push(Event::Open);
        self.events.extend(read(&inner));
        self.events.push(Event::Close);
        self.part(Part::Unknown);
    }

    /// Commands inside of a word, up to the bracket that closes them.
    pub(super) fn inside(&mut self) {
        let simple = std::mem::take(&mut self.simple);
        let word = self.word.take();
        let around = (self.glob, self.target, self.cases);
        (self.glob, self.target, self.cases) = (false, Target::Word, 0);
        self.events.push(Event::Open);
        self.commands(true);
        self.events.push(Event::Close);
        (self.glob, self.target, self.cases) = around;
        self.simple = simple;
        self.word = word;
    }
}
