use std::ops::Range;

use super::{Expr, Ref};
use crate::source::Span;

/// Finds the templates of a script: every `{{ … }}` whose inside reads one of the language's
/// names, with its place in the text. Braces of other languages are left alone.
pub fn templates_in_script(text: &str) -> Vec<(Range<usize>, Ref)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(close) = text.get(from..).and_then(|rest| rest.find("}}")) {
        let close = from + close;
        let before = text.get(from..close).unwrap_or("");
        if let Some(open) = before.rfind("{{") {
            let inner = before.get(open + 2..).unwrap_or("");
            if let Some(name) = first_name(inner) {
                found.push((from + open..close + 2, name));
            }
        }
        from = close + 2;
    }
    found
}

/// The first name read by the inside of a template; the whole of it need not be allowed.
fn first_name(inner: &str) -> Option<Ref> {
    if inner.len() > Expr::MAX {
        return None;
    }
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let word = |text: &str| -> String { text.chars().take_while(|c| in_word(*c)).collect() };
    let read = |text: &str| {
        let expr = Expr::parse(text, Span::default()).ok()?;
        expr.refs().first().map(|read| read.name.clone())
    };
    read(inner).or_else(|| read(&word(inner.trim_start())))
}
