use super::{
    lexer::ShellLexer,
    words::{CommandWord, ShellCommand},
};

impl ShellLexer<'_> {
    /// Reads a redirection, if there is one here.
    pub(super) fn redirection(&mut self, command: &mut ShellCommand) -> bool {
        let rest = self.rest();
        let signs = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let signs = self.descriptor(signs, command);
        let signs = signs.strip_prefix('&').filter(|_| rest.starts_with("&>")).unwrap_or(signs);
        if !signs.starts_with(['<', '>']) || signs.starts_with("<(") || signs.starts_with(">(") {
            return false;
        }
        self.at += rest.len() - signs.len();
        if self.takes("<<<") {
            self.gap();
            let word = self.word();
            command.input = Some((word.at, word.text.clone()));
            self.script.variables.extend(word.variables);
        } else if self.takes("<<-") {
            self.document(command, true);
        } else if self.takes("<<") {
            self.document(command, false);
        } else if self.takes(">&") || self.takes("<&") {
            self.gap();
            let word = self.word();
            let is_number = word.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
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

    /// Reads the text after `{NAME}`, where a redirection sets a variable.
    fn descriptor<'s>(&self, signs: &'s str, command: &mut ShellCommand) -> &'s str {
        let inner = signs.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match inner {
            Some((name, after))
                if !name.is_empty() && name.chars().all(is_word) && after.starts_with(['<', '>']) =>
            {
                let at = self.base + self.at;
                let value = CommandWord { at, ..CommandWord::default() };
                command.sets.push((name.to_owned(), value));
                after
            }
            _ => signs,
        }
    }

    fn gap(&mut self) {
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
    }

    /// Reads a here-document: its text begins after this line, or after that of the one before.
    fn document(&mut self, command: &mut ShellCommand, strips: bool) {
        self.gap();
        let end = self.word();
        let line = self.rest().find('\n').map_or(self.text.len(), |long| self.at + long + 1);
        let from = self.documents_end.unwrap_or(line);
        let body = self.text.get(from..).unwrap_or_default();
        let mut long = 0;
        for body_line in body.split_inclusive('\n') {
            let bare = body_line.trim_end_matches(['\n', '\r']);
            let bare = if strips { bare.trim_start_matches('\t') } else { bare };
            if bare == end.text {
                self.documents_end = Some(from + long + body_line.len());
                break;
            }
            long += body_line.len();
        }
        if long >= body.len() {
            self.documents_end = Some(self.text.len());
        }
        let text = body.get(..long).unwrap_or_default();
        if !end.is_quoted {
            self.expanded(text, self.base + from);
        }
        command.input = Some((self.base + from, text.to_owned()));
    }

    /// Reads the expansions in a here-document.
    fn expanded(&mut self, text: &str, base: usize) {
        let mut reader = ShellLexer::new(text, base, self.depth + 1);
        reader.function.clone_from(&self.function);
        let mut word = CommandWord::default();
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
        self.script.variables.append(&mut word.variables);
        self.script.variables.append(&mut reader.script.variables);
        self.script.pipelines.append(&mut reader.script.pipelines);
        self.script.too_deep |= reader.script.too_deep;
    }
}
