use super::{
    facts::{FlowFacts, ValuePlaceIx},
    place::{FlowLabel, ValuePlace},
    shell::CommandSource,
};
use crate::inspect::python::{ScriptToken, ScriptTokenKind, arguments, assigns, outermost, read_program};
use std::{collections::BTreeMap, rc::Rc};

/// The maximum nesting of programs in programs that is followed.
const DEEPEST: usize = 4;

/// A reader of the facts of a program in Python.
pub(super) struct PythonFactReader<'a, 's> {
    pub(super) facts: &'a mut FlowFacts,
    pub(super) source: &'a CommandSource<'s>,
    /// The full names of used names, by offset.
    names: BTreeMap<usize, String>,
    /// The open functions: their indentation, and their names.
    open: Vec<(usize, String)>,
    pub(super) depth: usize,
}

/// Reads the facts of a program in Python.
pub(super) fn python(
    facts: &mut FlowFacts,
    source: &CommandSource<'_>,
    text: &str,
    base: usize,
    depth: usize,
) {
    if depth > DEEPEST {
        return;
    }
    let code = read_program(text, base);
    let names = code.names.iter().map(|(at, name, _)| (*at, name.clone()));
    let mut program = PythonFactReader { names: names.collect(), open: Vec::new(), facts, source, depth };
    for statement in statements(text, base, &code.tokens) {
        let at = statement.tokens.first().map_or(base, |token| token.at);
        if (source.counts)(at) {
            program.statement(&statement);
        }
    }
}

/// Returns the functions a program in Python defines.
pub(super) fn functions(text: &str) -> Vec<String> {
    let code = read_program(text, 0);
    let defined = code.tokens.array_windows().filter_map(|[def, name]| {
        let is_def = def.name() == Some("def");
        name.name().filter(|_| is_def).map(str::to_owned)
    });
    defined.collect()
}

impl PythonFactReader<'_, '_> {
    fn statement(&mut self, statement: &PythonStatement<'_>) {
        let tokens = statement.tokens;
        while self.open.last().is_some_and(|(column, _)| statement.column <= *column) {
            self.open.pop();
        }
        let tokens = match tokens {
            [first, rest @ ..] if first.name() == Some("async") => rest,
            _ => tokens,
        };
        let first = tokens.first().and_then(ScriptToken::name).unwrap_or_default();
        let rest = tokens.get(1..).unwrap_or_default();
        match first {
            "import" | "from" | "class" | "pass" | "global" | "nonlocal" | "del" => {}
            "def" => self.defines(statement.column, rest),
            "return" | "yield" => {
                let value = self.value(rest);
                if let Some((_, name)) = self.open.last() {
                    self.facts.move_to(value, ValuePlace::Result(name.clone()));
                }
            }
            "for" => {
                let of = rest.iter().position(|token| token.name() == Some("in"));
                if let Some((targets, of)) = of.and_then(|at| rest.split_at_checked(at)) {
                    let value = self.value(of.get(1..).unwrap_or_default());
                    self.assign(targets, value);
                }
            }
            "with" => {
                for part in arguments(rest) {
                    let at = part.iter().position(|token| token.name() == Some("as"));
                    let (source, name) = part.split_at(at.unwrap_or(part.len()));
                    let value = self.value(source);
                    self.assign(name.get(1..).unwrap_or_default(), value);
                }
            }
            "if" | "elif" | "while" | "assert" | "except" => {
                self.value(rest);
            }
            _ => match assigns(tokens) {
                Some(sign) => {
                    let value = self.value(tokens.get(sign + 1..).unwrap_or_default());
                    self.assign(tokens.get(..sign).unwrap_or_default(), value);
                }
                None => {
                    self.value(tokens);
                }
            },
        }
    }

    fn defines(&mut self, column: usize, tokens: &[ScriptToken]) {
        let Some(name) = tokens.first().and_then(ScriptToken::name) else {
            return;
        };
        self.open.push((column, name.to_owned()));
        let close = outermost(tokens, ')').unwrap_or(tokens.len());
        let inner = tokens.get(2..close).unwrap_or_default();
        let names = arguments(inner).into_iter().filter_map(|part| part.iter().find_map(ScriptToken::name));
        let names = names.filter(|name| !matches!(*name, "self" | "cls"));
        for (number, parameter) in names.enumerate() {
            let variable = self.variable(parameter);
            for key in [number.to_string(), parameter.to_owned()] {
                self.facts.move_from(ValuePlace::Argument(name.to_owned(), key), variable);
            }
        }
    }

    /// Returns the scope that separates the variables here from others.
    pub(super) fn scope(&self) -> Rc<str> {
        match self.open.last() {
            Some((_, function)) => Rc::from(format!("{}#{function}", self.source.scope)),
            None => Rc::clone(&self.source.scope),
        }
    }

    /// Adds a value to a variable.
    pub(super) fn receives(&mut self, name: &str, value: ValuePlaceIx) {
        if let Some(to) = self.place_of(name) {
            self.facts.moves(value, to);
        }
    }

    /// Returns the place of a variable here: one in a function may come from outside of it.
    fn variable(&mut self, name: &str) -> ValuePlaceIx {
        let scope = self.scope();
        let own = self.facts.place_ix(ValuePlace::Variable(scope, name.to_owned()));
        if !self.open.is_empty() {
            let scope = Rc::clone(&self.source.scope);
            self.facts.move_from(ValuePlace::Variable(scope, name.to_owned()), own);
        }
        own
    }

    /// Returns the place of a member of any object: `self.x` is the same throughout a file.
    fn member(&mut self, name: &str) -> ValuePlaceIx {
        let scope = Rc::clone(&self.source.scope);
        self.facts.place_ix(ValuePlace::Variable(scope, format!(".{name}")))
    }

    fn assign(&mut self, tokens: &[ScriptToken], value: ValuePlaceIx) {
        for part in arguments(tokens) {
            let part = part.split(|token| token.is('[') || token.is(':')).next().unwrap_or_default();
            let names: Vec<&str> = part.iter().filter_map(ScriptToken::name).collect();
            let to = match names.as_slice() {
                [name] => {
                    // A variable of a class is a member, too.
                    if self.open.is_empty() {
                        let member = self.member(name);
                        self.facts.moves(value, member);
                    }
                    self.variable(name)
                }
                [.., last] if part.iter().any(|token| token.is('.')) => self.member(last),
                _ => continue,
            };
            self.facts.moves(value, to);
        }
    }

    /// Returns the value of an expression.
    pub(super) fn value(&mut self, tokens: &[ScriptToken]) -> ValuePlaceIx {
        let value = self.facts.value();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += match &token.kind {
                ScriptTokenKind::Text(text, is_known) => {
                    self.record_literal(text, *is_known, value);
                    1
                }
                ScriptTokenKind::Name(name) => {
                    self.read_name(name, tokens.get(at..).unwrap_or_default(), value)
                }
                _ => 1,
            };
        }
        value
    }

    /// Records the labels of a text, and the variables inserted in it.
    pub(super) fn record_literal(&mut self, text: &str, is_known: bool, value: ValuePlaceIx) {
        self.facts.record_text(text, value);
        if is_known {
            return;
        }
        for part in text.split('{').skip(1) {
            let end = part.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.'));
            let name = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
            if let Some(from) = self.place_of(name) {
                self.facts.moves(from, value);
            }
        }
    }

    fn place_of(&mut self, name: &str) -> Option<ValuePlaceIx> {
        match name.split_once('.') {
            _ if name.is_empty() => None,
            Some(("self", member)) => Some(self.member(member.split('.').next().unwrap_or_default())),
            Some((name, _)) => Some(self.variable(name)),
            None => Some(self.variable(name)),
        }
    }

    /// Reads a name and its suffixes: a call, a member, an item; returns the number of tokens.
    fn read_name(&mut self, first: &str, tokens: &[ScriptToken], value: ValuePlaceIx) -> usize {
        let mut long = 1;
        while let (Some(dot), Some(next)) = (tokens.get(long), tokens.get(long + 1))
            && dot.is('.')
            && next.name().is_some()
        {
            long += 2;
        }
        let at = tokens.first().map_or(0, |token| token.at);
        let whole = self.names.get(&at).cloned().unwrap_or_else(|| first.to_owned());
        let rest = tokens.get(long..).unwrap_or_default();
        if rest.first().is_some_and(|token| token.is('(')) {
            let close = outermost(rest, ')').unwrap_or(rest.len());
            let args = rest.get(1..close).unwrap_or_default();
            let result = self.call(&whole, at, first, args);
            self.facts.moves(result, value);
            return long + close + 1;
        }
        match whole.as_str() {
            "os.environ" => {
                let key = rest.get(1).filter(|_| rest.first().is_some_and(|open| open.is('[')));
                self.environment(key.and_then(ScriptToken::text), value);
            }
            "sys.argv" => {
                let of = self.source.scope.to_string();
                self.facts.move_from(ValuePlace::Argument(of, "@".to_owned()), value);
            }
            "sys.stdin" => {
                self.facts.move_from(ValuePlace::Input(Rc::clone(&self.source.scope)), value);
            }
            _ => {
                let members: Vec<&str> = tokens.iter().take(long).filter_map(ScriptToken::name).collect();
                let from = self.variable(first);
                self.facts.moves(from, value);
                if let [_, member, ..] = members.as_slice() {
                    let from = self.member(member);
                    self.facts.moves(from, value);
                }
            }
        }
        long
    }

    /// Reads one variable of the environment, or all of them.
    pub(super) fn environment(&mut self, name: Option<&str>, value: ValuePlaceIx) {
        if let Some(name) = name {
            self.facts.move_from(ValuePlace::Environment(name.to_owned()), value);
        } else {
            let label = FlowLabel::Secret("the environment".to_owned());
            self.facts.labels.push((label, value));
        }
    }
}

/// A statement of Python: its indentation, and its tokens.
pub(super) struct PythonStatement<'a> {
    /// Its indentation.
    pub(super) column: usize,
    pub(super) tokens: &'a [ScriptToken],
}

/// Returns the statements of a program; code after a colon on its line is a separate one.
pub(super) fn statements<'a>(text: &str, base: usize, tokens: &'a [ScriptToken]) -> Vec<PythonStatement<'a>> {
    let mut python_statements = Vec::new();
    for line in tokens.split(|token| token.kind == ScriptTokenKind::End || token.is(';')) {
        let Some(first) = line.first() else { continue };
        let before = text.get(..first.at.saturating_sub(base)).unwrap_or_default();
        let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
        let is_block = first.name().is_some_and(|name| BLOCKS.contains(&name));
        let colon = is_block.then(|| outermost(line, ':')).flatten();
        let (head, rest) = match colon {
            Some(colon) => (line.get(..colon), line.get(colon + 1..)),
            None => (Some(line), None),
        };
        let halves = [(column, head), (column + 1, rest)];
        python_statements.extend(halves.into_iter().filter_map(|(column, tokens)| {
            let tokens = tokens.filter(|tokens| !tokens.is_empty())?;
            Some(PythonStatement { column, tokens })
        }));
    }
    python_statements
}

const BLOCKS: [&str; 12] =
    ["if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class", "async"];
