use std::collections::BTreeMap;

use super::tokens::{ScriptDialect, ScriptToken, ScriptTokenKind, arguments, outermost, tokens};

/// A program, as far as it was understood.
#[derive(Debug, Default)]
pub(in crate::inspect) struct ParsedProgram {
    pub(in crate::inspect) tokens: Vec<ScriptToken>,
    /// The calls, with their full names.
    pub(in crate::inspect) calls: Vec<ParsedCall>,
    /// The imported modules: offset and name.
    pub(in crate::inspect) imports: Vec<(usize, String)>,
    /// The dotted names in use, called or not: offset, name, and index of the next token.
    pub(in crate::inspect) names: Vec<(usize, String, usize)>,
}

/// A call.
#[derive(Debug)]
pub(in crate::inspect) struct ParsedCall {
    /// Its offset, in bytes.
    pub(in crate::inspect) at: usize,
    /// The full name of the called function: `os.path.join`, even if imported by another.
    pub(in crate::inspect) name: String,
    /// The tokens of its arguments.
    pub(in crate::inspect) args: Vec<ScriptToken>,
}

impl ParsedCall {
    /// The tokens of the first argument.
    pub(in crate::inspect) fn first(&self) -> &[ScriptToken] {
        let end = outermost(&self.args, ',').unwrap_or(self.args.len());
        self.args.get(..end).unwrap_or_default()
    }

    /// Returns the first argument, if it consists of known texts only.
    pub(in crate::inspect) fn text(&self) -> Option<String> {
        let first = self.first();
        let texts: Option<Vec<&str>> = first.iter().map(ScriptToken::text).collect();
        texts.filter(|texts| !texts.is_empty()).map(|texts| texts.concat())
    }

    /// True if an argument has a name and a value: `shell=True`.
    pub(in crate::inspect) fn has(&self, name: &str, value: &str) -> bool {
        self.args
            .array_windows()
            .any(|[key, is, found]| key.name() == Some(name) && is.is('=') && found.name() == Some(value))
    }

    /// Returns the texts in a list that is the first argument; unknown items are `None`.
    pub(in crate::inspect) fn list(&self) -> Option<Vec<Option<String>>> {
        let first = self.first();
        let inner = match first {
            [open, inner @ .., close]
                if (open.is('[') && close.is(']')) || (open.is('(') && close.is(')')) =>
            {
                inner
            }
            _ => return None,
        };
        let text = |tokens: &[ScriptToken]| match tokens {
            [one] => one.text().map(str::to_owned),
            _ => None,
        };
        Some(arguments(inner).into_iter().map(text).collect())
    }
}

/// Reads a program of Python.
pub(in crate::inspect) fn read_program(text: &str, base: usize) -> ParsedProgram {
    let tokens = tokens(text, base, ScriptDialect::Python);
    let mut code = ParsedProgram::default();
    let names_by_alias = imports(&tokens, &mut code.imports);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let is_member = before.is_some_and(|before| before.is('.'));
        let Some(name) = token.name().filter(|_| !is_member) else {
            // A member of an expression without a name: `Path.home().write_text(…)`.
            if let (Some(name), true) = (token.name(), is_member) {
                note(&mut code, &tokens, token.at, format!(".{name}"), at + 1);
            }
            at += 1;
            continue;
        };
        let mut whole = names_by_alias.get(name).cloned().unwrap_or_else(|| name.to_owned());
        let mut end = at + 1;
        while let (Some(dot), Some(next)) = (tokens.get(end), tokens.get(end + 1))
            && dot.is('.')
            && let Some(next) = next.name()
        {
            whole.push('.');
            whole.push_str(next);
            end += 2;
        }
        let is_defined =
            before.and_then(ScriptToken::name).is_some_and(|word| word == "def" || word == "class");
        if !is_defined {
            note(&mut code, &tokens, token.at, whole, end);
        }
        at = end;
    }
    code.tokens = tokens;
    code
}

/// Records the use of a name, which is followed by the token `end`.
fn note(program: &mut ParsedProgram, tokens: &[ScriptToken], at: usize, name: String, end: usize) {
    if tokens.get(end).is_some_and(|next| next.is('(')) {
        let args = within(tokens.get(end + 1..).unwrap_or_default());
        let name = name.clone();
        program.calls.push(ParsedCall { at, name, args });
    }
    program.names.push((at, name, end));
}

/// Returns the tokens up to the closing parenthesis; at most as many as a call can sensibly have.
fn within(tokens: &[ScriptToken]) -> Vec<ScriptToken> {
    let mut open = 0_usize;
    let mut script_tokens = Vec::new();
    for token in tokens.iter().take(400) {
        match token.kind {
            ScriptTokenKind::Sign('(' | '[' | '{') => open += 1,
            ScriptTokenKind::Sign(')' | ']' | '}') if open == 0 => break,
            ScriptTokenKind::Sign(')' | ']' | '}') => open -= 1,
            _ => {}
        }
        script_tokens.push(token.clone());
    }
    script_tokens
}

/// Returns the full names of imported names.
fn imports(tokens: &[ScriptToken], modules: &mut Vec<(usize, String)>) -> BTreeMap<String, String> {
    let mut paths_by_name = BTreeMap::new();
    for statement in tokens.split(|token| token.kind == ScriptTokenKind::End || token.is(';')) {
        let statement_tokens: Vec<&ScriptToken> = statement.iter().collect();
        // `try: import x` on one line
        let begins =
            statement_tokens.iter().position(|token| matches!(token.name(), Some("import" | "from")));
        let words = begins.and_then(|at| statement_tokens.get(at..)).unwrap_or_default();
        match words {
            [first, rest @ ..] if first.name() == Some("import") => {
                for part in rest.split(|token| token.is(',')) {
                    let (path, name) = renamed(part);
                    modules.push((first.at, path.clone()));
                    match name {
                        Some(name) => paths_by_name.insert(name, path),
                        // `import a.b` gives the name `a`.
                        None => None,
                    };
                }
            }
            [first, rest @ ..] if first.name() == Some("from") => {
                let Some(cut) = rest.iter().position(|token| token.name() == Some("import")) else {
                    continue;
                };
                let (module, _) = renamed(rest.get(..cut).unwrap_or_default());
                modules.push((first.at, module.clone()));
                let names = rest.get(cut + 1..).unwrap_or_default();
                for part in names.split(|token| token.is(',') || token.is('(') || token.is(')')) {
                    let (name, other) = renamed(part);
                    if !name.is_empty() {
                        let whole = format!("{module}.{name}");
                        modules.push((first.at, whole.clone()));
                        paths_by_name.insert(other.unwrap_or(name), whole);
                    }
                }
            }
            _ => {}
        }
    }
    paths_by_name
}

/// Reads a dotted path, and the name after `as`.
fn renamed(tokens: &[&ScriptToken]) -> (String, Option<String>) {
    let mut path = String::new();
    let mut words = tokens.iter();
    for token in words.by_ref() {
        match &token.kind {
            ScriptTokenKind::Name(name) if name == "as" => break,
            ScriptTokenKind::Name(name) => path.push_str(name),
            ScriptTokenKind::Sign('.') => path.push('.'),
            _ => {}
        }
    }
    let other = words.next().and_then(|token| token.name());
    (path, other.map(str::to_owned))
}
