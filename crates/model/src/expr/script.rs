use std::{fmt, ops::Range};

use super::{Expr, ExprReference, foreign::is_foreign};
use wf_base::source::Span;

/// A read of a template in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptReference {
    /// A name of the language.
    Own(ExprReference),
    /// A read of another tool's name, as written.
    Foreign(String),
}

impl fmt::Display for ScriptReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(name) => name.fmt(f),
            Self::Foreign(text) => f.write_str(text),
        }
    }
}

/// Finds the templates of a script: every `{{ … }}` with one of the language's names inside,
/// or one of another tool filling values into scripts, with its position in the text. Braces of
/// other languages are ignored.
pub fn templates_in_script(text: &str) -> Vec<(Range<usize>, ScriptReference)> {
    let mut references = Vec::new();
    let mut from = 0;
    while let Some(close) = text.get(from..).and_then(|rest| rest.find("}}")) {
        let close = from + close;
        let before = text.get(from..close).unwrap_or("");
        if let Some(open) = before.rfind("{{") {
            let inner = before.get(open + 2..).unwrap_or("");
            let has_dollar = before.get(..open).unwrap_or("").ends_with('$');
            let start = from + open - usize::from(has_dollar);
            let own = first_name(inner).map(ScriptReference::Own);
            let foreign =
                || is_foreign(inner, has_dollar).then(|| ScriptReference::Foreign(inner.trim().to_owned()));
            references.extend(own.or_else(foreign).map(|read| (start..close + 2, read)));
        }
        from = close + 2;
    }
    references
}

/// Returns the first name read by the inside of a template; the whole of it need not be allowed.
fn first_name(inner: &str) -> Option<ExprReference> {
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
