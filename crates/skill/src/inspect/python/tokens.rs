use std::sync::Arc;

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) enum ScriptTokenKind {
    /// A name or a keyword.
    Name(String),
    /// A text: its content, and true if all of it is known.
    Text(Arc<str>, bool),
    Number(String),
    Sign(char),
    /// The end of a statement's line.
    End,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::inspect) struct ScriptToken {
    /// Its offset, in bytes.
    pub(in crate::inspect) at: usize,
    pub(in crate::inspect) kind: ScriptTokenKind,
}

impl ScriptToken {
    /// True if it is this sign.
    pub(in crate::inspect) fn is(&self, sign: char) -> bool {
        self.kind == ScriptTokenKind::Sign(sign)
    }

    pub(in crate::inspect) fn name(&self) -> Option<&str> {
        match &self.kind {
            ScriptTokenKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Returns its text, if it is one and all of it is known.
    pub(in crate::inspect) fn text(&self) -> Option<&str> {
        match &self.kind {
            ScriptTokenKind::Text(text, true) => Some(text),
            _ => None,
        }
    }
}

/// The syntax of comments and texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inspect) enum ScriptDialect {
    /// `#` comments, triple-quoted texts, prefixes.
    Python,
    /// `//` and `/* */` comments, templates in backticks.
    Script,
    /// `#` comments: Perl, Ruby and others.
    Other,
}

/// Returns the tokens of a program.
pub(in crate::inspect) fn tokens(text: &str, base: usize, dialect: ScriptDialect) -> Vec<ScriptToken> {
    let mut reader = ScriptLexer { text, at: 0, base, dialect, open: 0, tokens: Vec::new() };
    while let Some(c) = reader.rest().chars().next() {
        reader.token(c);
    }
    reader.push(reader.at, ScriptTokenKind::End);
    reader.tokens
}

struct ScriptLexer<'a> {
    text: &'a str,
    at: usize,
    base: usize,
    dialect: ScriptDialect,
    open: usize,
    tokens: Vec<ScriptToken>,
}

impl<'a> ScriptLexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, at: usize, kind: ScriptTokenKind) {
        let at = self.base + at;
        self.tokens.push(ScriptToken { at, kind });
    }

    fn token(&mut self, c: char) {
        let (from, rest) = (self.at, self.rest());
        let is_script = self.dialect == ScriptDialect::Script;
        if c == '\n' {
            self.at += 1;
            if self.open == 0 || is_script {
                self.push(from, ScriptTokenKind::End);
            }
        } else if c == '\\' && rest.starts_with("\\\n") {
            self.at += 2;
        } else if c.is_whitespace() {
            self.at += c.len_utf8();
        } else if (c == '#' && !is_script) || (is_script && rest.starts_with("//")) {
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if is_script && rest.starts_with("/*") {
            self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if c == '"' || c == '\'' || (c == '`' && is_script) {
            self.quoted("");
        } else if c.is_alphabetic() || c == '_' || c == '$' {
            self.name();
        } else if c.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.');
            self.at += end.unwrap_or(rest.len());
            let number = rest.get(..self.at - from).unwrap_or_default();
            self.push(from, ScriptTokenKind::Number(number.to_owned()));
        } else {
            match c {
                '(' | '[' | '{' => self.open += 1,
                ')' | ']' | '}' => self.open = self.open.saturating_sub(1),
                _ => {}
            }
            self.at += c.len_utf8();
            self.push(from, ScriptTokenKind::Sign(c));
        }
    }

    fn name(&mut self) {
        let (from, rest) = (self.at, self.rest());
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
        let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += name.len();
        let is_prefix = self.dialect == ScriptDialect::Python
            && name.len() <= 2
            && name.chars().all(|c| "rRbBuUfFtT".contains(c));
        if is_prefix && self.rest().starts_with(['"', '\'']) {
            self.quoted(name);
        } else {
            self.push(from, ScriptTokenKind::Name(name.to_owned()));
        }
    }

    /// Reads a quoted text; an unclosed one ends with its line, or with the file.
    fn quoted(&mut self, prefix: &str) {
        let (from, rest) = (self.at, self.rest());
        let quote = rest.chars().next().unwrap_or('"');
        let thrice: String = std::iter::repeat_n(quote, 3).collect();
        let is_long = self.dialect == ScriptDialect::Python && rest.starts_with(&thrice);
        self.at += if is_long { 3 } else { 1 };
        let is_raw = prefix.contains(['r', 'R']);
        let mut content = String::new();
        let mut is_known = !prefix.contains(['f', 'F', 't', 'T']);
        while let Some(c) = self.rest().chars().next() {
            let here = self.rest();
            self.at += c.len_utf8();
            if c == '\\' && !is_raw {
                let next = self.rest().chars().next();
                self.at += next.map_or(0, char::len_utf8);
                match next {
                    Some('x' | 'u' | 'U' | 'N' | '0'..='7') => is_known = false,
                    Some('\n') | None => {}
                    Some('n') => content.push('\n'),
                    Some('t') => content.push('\t'),
                    Some(c) => content.push(c),
                }
            } else if c == '\\' {
                content.push(c);
                if let Some(next) = self.rest().chars().next() {
                    self.at += next.len_utf8();
                    content.push(next);
                }
            } else if is_long && here.starts_with(&thrice) {
                self.at += 2;
                break;
            } else if !is_long && c == quote {
                break;
            } else if c == '\n' && !is_long && quote != '`' && self.dialect != ScriptDialect::Other {
                self.at -= 1;
                break;
            } else {
                let opens = (quote == '`' && here.starts_with("${"))
                    || (self.dialect == ScriptDialect::Other && quote == '"' && here.starts_with("#{"));
                is_known &= !opens;
                content.push(c);
            }
        }
        self.push(from - prefix.len(), ScriptTokenKind::Text(content.into(), is_known));
    }
}

/// Returns the tokens outside of parentheses, and the closing ones of outermost parentheses.
fn outer(tokens: &[ScriptToken]) -> impl Iterator<Item = (usize, &ScriptToken)> {
    let mut open = 0_usize;
    tokens.iter().enumerate().filter(move |(_, token)| {
        match token.kind {
            ScriptTokenKind::Sign('(' | '[' | '{') => open += 1,
            ScriptTokenKind::Sign(')' | ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0
    })
}

/// Returns the position of a sign outside of parentheses.
pub(in crate::inspect) fn outermost(tokens: &[ScriptToken], sign: char) -> Option<usize> {
    outer(tokens).find(|(_, token)| token.is(sign)).map(|(at, _)| at)
}

/// Returns the position of the sign of an assignment.
pub(in crate::inspect) fn assigns(tokens: &[ScriptToken]) -> Option<usize> {
    let is_sign = |(number, token): &(usize, &ScriptToken)| {
        let touches = |neighbour_token: Option<&ScriptToken>, signs: &str, gap: isize| {
            neighbour_token.is_some_and(|other| {
                let is_near = other.at.checked_add_signed(gap) == Some(token.at);
                is_near && signs.chars().any(|sign| other.is(sign))
            })
        };
        let before = number.checked_sub(1).and_then(|before| tokens.get(before));
        token.is('=') && !touches(before, "=<>!:", 1) && !touches(tokens.get(number + 1), "=", -1)
    };
    outer(tokens).find(is_sign).map(|(at, _)| at)
}

/// Splits at commas outside of parentheses.
pub(in crate::inspect) fn arguments(mut tokens: &[ScriptToken]) -> Vec<&[ScriptToken]> {
    let mut script_tokens = Vec::new();
    while let Some(comma) = outermost(tokens, ',') {
        script_tokens.push(tokens.get(..comma).unwrap_or_default());
        tokens = tokens.get(comma + 1..).unwrap_or_default();
    }
    script_tokens.push(tokens);
    script_tokens.retain(|part| !part.is_empty());
    script_tokens
}
