//! The JSON Schema of what is written as a text with its own grammar. Numbers and booleans count as the text
//! they are written as.

use super::{EvalError, Expr, ExprScope, SpannedReference, foreign::foreign_syntax_advice};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::{ops::Range, sync::Arc};
use wf_base::{
    diag::{Code, Diagnostic},
    inline_schema,
    source::Span,
};

/// Text with expressions between `{{` and `}}`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Template {
    source: Arc<str>,
    references: Arc<[SpannedReference]>,
    pieces: Arc<[TemplatePiece]>,
}

#[derive(Clone, Debug)]
enum TemplatePiece {
    Text(String),
    Value(Expr),
}

impl Template {
    /// Parses a template at `at`; positions are as in [`Expr::parse`].
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
        if wrong.is_empty() { Ok(Self::of(text, pieces)) } else { Err(wrong) }
    }

    /// Parses a template outside any file; `None` if the text is not one.
    pub fn read(text: &str) -> Option<Self> {
        Self::parse(text, Span::default()).ok()
    }

    /// Returns a template that always has this value.
    pub fn of_value(value: Value) -> Self {
        let expr = Expr::of_value(value);
        let source = expr.source().to_owned();
        Self::of(&source, vec![TemplatePiece::Value(expr)])
    }

    /// Returns a template without expressions.
    pub fn literal(text: &str) -> Self {
        Self::of(text, vec![TemplatePiece::Text(text.into())])
    }

    fn of(text: &str, pieces: Vec<TemplatePiece>) -> Self {
        let refs = pieces.iter().flat_map(|piece| match piece {
            TemplatePiece::Text(_) => Vec::new(),
            TemplatePiece::Value(expr) => expr.refs().to_vec(),
        });
        Self { source: text.into(), references: refs.collect(), pieces: pieces.into() }
    }

    /// Returns the text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the text for people who read it before its values are known: `Publish (the parameter region)?`.
    pub fn words(&self) -> String {
        let words = |piece: &TemplatePiece| match piece {
            TemplatePiece::Text(part) => part.clone(),
            TemplatePiece::Value(expr) => {
                match (expr.constant(), expr.source().trim().strip_prefix("params.")) {
                    (Some(value), _) => shown(value),
                    (None, Some(name))
                        if name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') =>
                    {
                        format!("(the parameter {name})")
                    }
                    (None, _) => format!("({})", expr.source().trim()),
                }
            }
        };
        self.pieces.iter().map(words).collect()
    }

    /// Returns every name read, with its position.
    pub fn refs(&self) -> &[SpannedReference] {
        &self.references
    }

    /// Returns the value, if it is the same in every scope.
    pub fn constant(&self) -> Option<Value> {
        let mut text = String::new();
        for piece in &*self.pieces {
            match piece {
                TemplatePiece::Text(part) => text.push_str(part),
                TemplatePiece::Value(expr) if self.pieces.len() == 1 => return expr.constant(),
                TemplatePiece::Value(expr) => text.push_str(&shown(expr.constant()?)),
            }
        }
        Some(Value::String(text))
    }

    /// Returns the text with every expression replaced by its value: strings as they are, all else as JSON.
    pub fn render(&self, scope: &dyn ExprScope) -> Result<String, EvalError> {
        self.render_quoted(scope, |value| value)
    }

    /// Like [`render`](Self::render), for a text where characters have a meaning: values are quoted, the
    /// template's own text is not.
    pub fn render_quoted(
        &self,
        scope: &dyn ExprScope,
        quote: impl Fn(String) -> String,
    ) -> Result<String, EvalError> {
        self.pieces.iter().try_fold(String::new(), |text, piece| {
            Ok(match piece {
                TemplatePiece::Text(part) => text + part,
                TemplatePiece::Value(expr) => text + &quote(shown(expr.eval(scope)?)),
            })
        })
    }

    /// Like [`render_quoted`](Self::render_quoted), with `unknown` in place of each value the scope does
    /// not have; `None` if the template reads no other name.
    pub fn render_known(
        &self,
        scope: &dyn ExprScope,
        quote: impl Fn(String) -> String,
        unknown: &str,
    ) -> Option<String> {
        let (mut has_known, mut are_all) = (false, true);
        let text = (self.pieces.iter()).fold(String::new(), |text, piece| match piece {
            TemplatePiece::Text(part) => {
                has_known |= part.contains(char::is_alphanumeric);
                text + part
            }
            TemplatePiece::Value(expr) => {
                let value = expr.eval(scope).ok();
                has_known |= value.is_some();
                are_all &= value.is_some();
                text + &value.map_or_else(|| unknown.to_owned(), |value| quote(shown(value)))
            }
        });
        (has_known || are_all).then_some(text)
    }

    /// True if its value is text, whatever the values of its expressions.
    pub fn is_text(&self) -> bool {
        !matches!(&*self.pieces, [TemplatePiece::Value(_)])
    }

    /// Returns the value: typed if the template is one expression and nothing else, else the text.
    pub fn value(&self, scope: &dyn ExprScope) -> Result<Value, EvalError> {
        match &*self.pieces {
            [TemplatePiece::Value(expr)] => expr.eval(scope),
            _ => self.render(scope).map(Value::String),
        }
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.source().serialize(serializer)
    }
}

fn shown(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn push_text(pieces: &mut Vec<TemplatePiece>, text: &str) {
    if !text.is_empty() {
        pieces.push(TemplatePiece::Text(text.into()));
    }
}

/// Finds the next `{{`, `{%` or `{#`.
fn find(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let opens = |pair: &[u8]| matches!(pair, [b'{', b'{' | b'%' | b'#']);
    bytes.windows(2).position(opens).map(|offset| from + offset)
}

/// Reads the construct at `open`: returns a piece, or mistakes, and the position after it.
fn read(text: &str, at: Span, open: usize) -> Result<(TemplatePiece, usize), (Vec<Diagnostic>, usize)> {
    let place = |part: Range<usize>| {
        if at.range().len() == text.len() { at.subspan(part) } else { at }
    };
    if !text.get(open..).unwrap_or("").starts_with("{{") {
        let mark = text.get(open..open + 2).unwrap_or("");
        let wrong = Diagnostic::new(
            Code::ExpressionForm,
            place(open..open + 2),
            format!("`{mark}` is not allowed in a template"),
        );
        let help =
            format!("use `{{{{ … }}}}`; to write the text itself, put it in quotes: `{{{{ '{mark}' }}}}`");
        return Err((vec![wrong.with_help(help)], open + 2));
    }
    if text.get(..open).unwrap_or("").ends_with('$') {
        let end = closing(text, open + 2).map_or(text.len(), |close| close + 2);
        let inner = text.get(open + 2..end).unwrap_or("");
        let inner = inner.trim_end_matches('}').trim();
        let message = "templates are written without `$`";
        let wrong = Diagnostic::new(Code::ExpressionSyntax, place(open - 1..end), message);
        let help = foreign_syntax_advice(inner).map_or_else(
            || {
                format!(
                    "write `{{{{ {inner} }}}}`; for a dollar sign before a value, `{{{{ '$' \
                        }}}}`"
                )
            },
            str::to_owned,
        );
        return Err((vec![wrong.with_help(help)], end));
    }
    let Some(close) = closing(text, open + 2) else {
        let wrong =
            Diagnostic::new(Code::ExpressionSyntax, place(open..open + 2), "this `{{` has no closing `}}`");
        let help = "close it, or write `{{ '{{' }}` for the text itself";
        return Err((vec![wrong.with_help(help)], text.len()));
    };
    let inner = text.get(open + 2..close).unwrap_or("");
    match Expr::parse(inner, place(open + 2..close)) {
        Ok(expr) => Ok((TemplatePiece::Value(expr), close + 2)),
        Err(wrong) => Err((wrong, close + 2)),
    }
}

/// Finds the `}}` ending an expression: the first outside quotes.
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

inline_schema!(Expr, "Expr", { "type": ["string", "number", "boolean"] });

inline_schema!(Template, "Template", { "type": ["string", "number", "boolean"] });
