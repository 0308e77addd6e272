use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::foreign::elsewhere;
use super::{EvalError, Expr, Scope, SpannedRef};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// Text with expressions between `{{` and `}}`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Template {
    source: Arc<str>,
    refs: Arc<[SpannedRef]>,
    pieces: Arc<[Piece]>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(Expr),
}

impl Template {
    /// Parses a template that stands at `at`; places are as in [`Expr::parse`].
    pub fn parse(text: &str, at: Span) -> Result<Self, Vec<Diagnostic>> {
        let mut pieces = Vec::new();
        let mut wrong = Vec::new();
        let mut done = 0;
        while let Some(open) = find(text, done) {
            push_text(&mut pieces, text.get(done..open).unwrap_or(""));
            match read(text, at, open) {
                Ok((piece, end)) => {
                    pieces.push(piece);
                    done = end;
                }
                Err((mistakes, end)) => {
                    wrong.extend(mistakes);
                    done = end;
                }
            }
        }
        push_text(&mut pieces, text.get(done..).unwrap_or(""));
        if wrong.is_empty() {
            Ok(Self::of(text, pieces))
        } else {
            Err(wrong)
        }
    }

    /// Parses a template that stands in no file; `None` if it is none.
    pub fn read(text: &str) -> Option<Self> {
        Self::parse(text, Span::default()).ok()
    }

    /// A template that always has this value.
    pub fn of_value(value: Value) -> Self {
        let expr = Expr::of_value(value);
        let source = expr.source().to_owned();
        Self::of(&source, vec![Piece::Value(expr)])
    }

    /// A template without expressions.
    pub fn literal(text: &str) -> Self {
        Self::of(text, vec![Piece::Text(text.into())])
    }

    fn of(text: &str, pieces: Vec<Piece>) -> Self {
        let refs = pieces.iter().flat_map(|piece| match piece {
            Piece::Text(_) => Vec::new(),
            Piece::Value(expr) => expr.refs().to_vec(),
        });
        Self {
            source: text.into(),
            refs: refs.collect(),
            pieces: pieces.into(),
        }
    }

    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Every name read, with its place.
    pub fn refs(&self) -> &[SpannedRef] {
        &self.refs
    }

    /// The value, if it is the same in every scope.
    pub fn constant(&self) -> Option<Value> {
        let mut text = String::new();
        for piece in &*self.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Value(expr) if self.pieces.len() == 1 => return expr.constant(),
                Piece::Value(expr) => text.push_str(&shown(expr.constant()?)),
            }
        }
        Some(Value::String(text))
    }

    /// The text with every expression replaced by its value: strings as they are, all else as
    /// JSON.
    pub fn render(&self, scope: &dyn Scope) -> Result<String, EvalError> {
        self.render_quoted(scope, |value| value)
    }

    /// As [`render`](Self::render), for a text in which characters have a meaning: values are quoted,
    /// what the template itself says is not.
    pub fn render_quoted(
        &self,
        scope: &dyn Scope,
        quote: impl Fn(String) -> String,
    ) -> Result<String, EvalError> {
        self.pieces.iter().try_fold(String::new(), |text, piece| {
            Ok(match piece {
                Piece::Text(part) => text + part,
                Piece::Value(expr) => text + &quote(shown(expr.eval(scope)?)),
            })
        })
    }

    /// As [`render_quoted`](Self::render_quoted), with `unknown` in the place of each value that the
    /// scope does not have; `None` if the template says no name besides.
    pub fn render_known(
        &self,
        scope: &dyn Scope,
        quote: impl Fn(String) -> String,
        unknown: &str,
    ) -> Option<String> {
        let (mut known, mut all) = (false, true);
        let text = (self.pieces.iter()).fold(String::new(), |text, piece| match piece {
            Piece::Text(part) => {
                known |= part.contains(char::is_alphanumeric);
                text + part
            }
            Piece::Value(expr) => {
                let value = expr.eval(scope).ok();
                known |= value.is_some();
                all &= value.is_some();
                text + &value.map_or_else(|| unknown.to_owned(), |value| quote(shown(value)))
            }
        });
        (known || all).then_some(text)
    }

    /// Whether its value is text, whatever the expressions in it give.
    pub fn is_text(&self) -> bool {
        !matches!(&*self.pieces, [Piece::Value(_)])
    }

    /// The value: typed if the template is one expression and nothing else, else the text.
    pub fn value(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        match &*self.pieces {
            [Piece::Value(expr)] => expr.eval(scope),
            _ => self.render(scope).map(Value::String),
        }
    }
}

fn shown(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.into()));
    }
}

/// The next `{{`, `{%` or `{#`.
fn find(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let opens = |pair: &[u8]| matches!(pair, [b'{', b'{' | b'%' | b'#']);
    bytes.windows(2).position(opens).map(|found| from + found)
}

/// Reads what begins at `open`: a piece, or mistakes, and where to go on.
fn read(text: &str, at: Span, open: usize) -> Result<(Piece, usize), (Vec<Diagnostic>, usize)> {
    let place = |part: Range<usize>| {
        if at.range().len() == text.len() {
            at.part(part)
        } else {
            at
        }
    };
    if !text.get(open..).unwrap_or("").starts_with("{{") {
        let mark = text.get(open..open + 2).unwrap_or("");
        let wrong = Diagnostic::new(
            Code::ExpressionForm,
            place(open..open + 2),
            format!("`{mark}` is not allowed in a template"),
        );
        let help = format!(
            "only `{{{{ … }}}}` is; to write the text itself, put it in quotes: `{{{{ '{mark}' }}}}`"
        );
        return Err((vec![wrong.help(help)], open + 2));
    }
    if text.get(..open).unwrap_or("").ends_with('$') {
        let end = closing(text, open + 2).map_or(text.len(), |close| close + 2);
        let inner = text.get(open + 2..end).unwrap_or("");
        let inner = inner.trim_end_matches('}').trim();
        let message = "a template is written without `$`";
        let wrong = Diagnostic::new(Code::ExpressionSyntax, place(open - 1..end), message);
        let help = elsewhere(inner).map_or_else(
            || format!("write `{{{{ {inner} }}}}`; before a value, a dollar is `{{{{ '$' }}}}`"),
            str::to_owned,
        );
        return Err((vec![wrong.help(help)], end));
    }
    let Some(close) = closing(text, open + 2) else {
        let wrong = Diagnostic::new(
            Code::ExpressionSyntax,
            place(open..open + 2),
            "this `{{` has no `}}`",
        );
        let help = "close it, or write `{{ '{{' }}` for the text itself";
        return Err((vec![wrong.help(help)], text.len()));
    };
    let inner = text.get(open + 2..close).unwrap_or("");
    match Expr::parse(inner, place(open + 2..close)) {
        Ok(expr) => Ok((Piece::Value(expr), close + 2)),
        Err(wrong) => Err((wrong, close + 2)),
    }
}

/// The `}}` that ends an expression: the first outside quotes.
fn closing(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut quote = None;
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'\'' | b'"') => quote = Some(*byte),
            (None, b'}') if bytes.get(at + 1) == Some(&b'}') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}
