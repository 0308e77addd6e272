use super::lexer::{DEEPEST, Reader};
use super::words::{Command, UNKNOWN, Var, Word};

impl Reader<'_> {
    /// Reads one word.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word {
            at: self.base + self.at,
            ..Word::default()
        };
        if self.takes("<(") || self.takes(">(") {
            self.inside(Vec::new());
            word.has_command = true;
            word.text.push(UNKNOWN);
        }
        while let Some(c) = self.peek() {
            match c {
                '(' if word.text.ends_with('=') => self.list(&mut word),
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                _ => self.piece(&mut word, c),
            }
        }
        word
    }

    /// One character, quotation or expansion outside of quotes.
    fn piece(&mut self, word: &mut Word, c: char) {
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

    fn double(&mut self, word: &mut Word) {
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

    /// An expansion, or a dollar sign.
    fn dollar(&mut self, word: &mut Word, is_quoted: bool) {
        if self.depth >= DEEPEST {
            self.out.too_deep = true;
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        self.expansion(word, is_quoted);
        self.depth -= 1;
    }

    fn expansion(&mut self, word: &mut Word, is_quoted: bool) {
        let at = self.base + self.at;
        self.at += 1;
        if self.is_arithmetic() && self.takes("((") {
            self.arithmetic(word);
        } else if self.takes("(") {
            self.inside(Vec::new());
            word.has_command = true;
        } else if self.takes("{") {
            self.parameter(word, (at, is_quoted));
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
            word.vars.push(Var {
                at,
                name,
                is_quoted,
                is_guarded: false,
                sets: false,
            });
        }
        word.text.push(UNKNOWN);
    }

    /// The name of a variable: a word, one digit, or one sign.
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

    /// `${…}`, whose brace is read already.
    fn parameter(&mut self, word: &mut Word, (at, is_quoted): (usize, bool)) {
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
            rest = rest
                .find(']')
                .and_then(|end| rest.get(end + 1..))
                .unwrap_or(rest);
        }
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let falls_back = rest.starts_with('-') || rest.starts_with('=');
        if !name.is_empty() {
            word.vars.push(Var {
                at,
                name,
                is_quoted: is_quoted || is_length,
                is_guarded: rest.starts_with('?') || falls_back && !rest.starts_with("-}"),
                sets: rest.starts_with('='),
            });
        }
        let mut inner = Word::default();
        while let Some(c) = self.peek() {
            if c == '}' {
                self.at += 1;
                break;
            }
            if c == '\'' && is_quoted {
                // Within double quotes it is only a sign.
                self.at += 1;
            } else {
                self.piece(&mut inner, c);
            }
        }
        word.vars.append(&mut inner.vars);
        word.has_command |= inner.has_command;
    }

    /// Arithmetic, whose two parentheses are read already.
    pub(super) fn arithmetic(&mut self, word: &mut Word) {
        let mut open = 0_usize;
        let mut inner = Word::default();
        while let Some(c) = self.peek() {
            if open == 0 && self.takes("))") {
                break;
            }
            match c {
                '(' => open += 1,
                ')' => open = open.saturating_sub(1),
                '\n' if self.given.is_some() => break,
                '$' | '`' | '"' | '\\' => {
                    self.piece(&mut inner, c);
                    continue;
                }
                _ => {}
            }
            self.at += c.len_utf8();
        }
        // Whatever is in it, a number comes of it.
        for var in &mut inner.vars {
            var.is_quoted = true;
        }
        word.has_command |= inner.has_command;
        self.out.vars.append(&mut inner.vars);
    }

    /// `$'…'`: with escapes for bytes, what it says is as good as unknown.
    fn escaped(&mut self, word: &mut Word) {
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

    fn backticks(&mut self, word: &mut Word) {
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
        word.has_command = true;
        word.text.push(UNKNOWN);
        self.apart(&inner, self.base + from);
    }

    /// Reads commands that stand in a text of their own.
    fn apart(&mut self, text: &str, base: usize) {
        let mut reader = Reader::new(text, base, self.depth + 1);
        reader.inside(Vec::new());
        self.out.pipelines.append(&mut reader.out.pipelines);
        self.out.vars.append(&mut reader.out.vars);
        self.out.too_deep |= reader.out.too_deep;
    }

    /// A list in parentheses: all that is in it belongs to one word.
    pub(super) fn list(&mut self, word: &mut Word) {
        self.at += 1;
        word.text.push(UNKNOWN);
        while let Some(c) = self.peek() {
            match c {
                ')' => {
                    self.at += 1;
                    return;
                }
                '#' if self
                    .text
                    .get(..self.at)
                    .is_some_and(|before| before.ends_with([' ', '\n', '('])) =>
                {
                    let rest = self.rest();
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' => self.at += 1,
                c => self.piece(word, c),
            }
        }
    }

    /// A redirection, if one stands here.
    pub(super) fn redirection(&mut self, command: &mut Command) -> bool {
        let rest = self.rest();
        let signs = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let signs = signs
            .strip_prefix('&')
            .filter(|_| rest.starts_with("&>"))
            .unwrap_or(signs);
        if !signs.starts_with(['<', '>']) || signs.starts_with("<(") || signs.starts_with(">(") {
            return false;
        }
        self.at += rest.len() - signs.len();
        if self.takes("<<<") {
            self.gap();
            let word = self.word();
            command.input = Some((word.at, word.text.clone()));
            self.out.vars.extend(word.vars);
        } else if self.takes("<<-") {
            self.document(command, true);
        } else if self.takes("<<") {
            self.document(command, false);
        } else if self.takes(">&") || self.takes("<&") {
            self.gap();
            let word = self.word();
            let is_number = word
                .text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            if !is_number {
                command.writes.push(word);
            }
        } else if self.takes(">>") || self.takes(">|") || self.takes("<>") || self.takes(">") {
            self.gap();
            let word = self.word();
            command.writes.push(word);
        } else {
            self.at += 1;
            self.gap();
            let word = self.word();
            command.reads.push(word);
        }
        true
    }

    fn gap(&mut self) {
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
    }

    /// A here-document: its text begins after this line, or after that of the one before.
    fn document(&mut self, command: &mut Command, strips: bool) {
        self.gap();
        let end = self.word();
        let line = self
            .rest()
            .find('\n')
            .map_or(self.text.len(), |long| self.at + long + 1);
        let from = self.given.unwrap_or(line);
        let body = self.text.get(from..).unwrap_or_default();
        let mut long = 0;
        for one in body.split_inclusive('\n') {
            let bare = one.trim_end_matches(['\n', '\r']);
            let bare = if strips {
                bare.trim_start_matches('\t')
            } else {
                bare
            };
            if bare == end.text {
                self.given = Some(from + long + one.len());
                break;
            }
            long += one.len();
        }
        if long >= body.len() {
            self.given = Some(self.text.len());
        }
        let text = body.get(..long).unwrap_or_default();
        if !end.is_quoted {
            self.expanded(text, self.base + from);
        }
        command.input = Some((self.base + from, text.to_owned()));
    }

    /// What is expanded in a text that is given to read.
    fn expanded(&mut self, text: &str, base: usize) {
        let mut reader = Reader::new(text, base, self.depth + 1);
        let mut word = Word::default();
        while let Some(c) = reader.peek() {
            match c {
                '\\' => {
                    reader.next();
                    reader.next();
                }
                '$' => reader.dollar(&mut word, true),
                '`' => reader.backticks(&mut word),
                c => reader.at += c.len_utf8(),
            }
        }
        self.out.vars.append(&mut word.vars);
        self.out.vars.append(&mut reader.out.vars);
        self.out.pipelines.append(&mut reader.out.pipelines);
        self.out.too_deep |= reader.out.too_deep;
    }
}
