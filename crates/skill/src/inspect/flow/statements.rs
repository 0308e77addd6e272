use crate::inspect::python::{ScriptToken, ScriptTokenKind};

/// A statement of Python: its indentation, and its tokens.
pub(super) struct PythonStatement<'a> {
    /// Its indentation.
    pub(super) column: usize,
    /// Its tokens.
    pub(super) tokens: &'a [ScriptToken],
}

/// Returns the statements of a program; code after a colon on its line is a separate one.
pub(super) fn statements<'a>(text: &str, base: usize, tokens: &'a [ScriptToken]) -> Vec<PythonStatement<'a>> {
    let mut found = Vec::new();
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
        let all = [(column, head), (column + 1, rest)];
        found.extend(all.into_iter().filter_map(|(column, tokens)| {
            let tokens = tokens.filter(|tokens| !tokens.is_empty())?;
            Some(PythonStatement { column, tokens })
        }));
    }
    found
}

const BLOCKS: [&str; 12] =
    ["if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class", "async"];

/// Returns the position of a sign outside of parentheses.
pub(super) fn outermost(tokens: &[ScriptToken], sign: char) -> Option<usize> {
    let mut open = 0_usize;
    tokens.iter().position(|token| {
        match token.kind {
            ScriptTokenKind::Sign('(' | '[' | '{') => open += 1,
            ScriptTokenKind::Sign(')' | ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && token.is(sign)
    })
}

/// Returns the position of the sign of an assignment.
pub(super) fn assigns(tokens: &[ScriptToken]) -> Option<usize> {
    let mut open = 0_usize;
    tokens.iter().enumerate().position(|(number, token)| {
        match token.kind {
            ScriptTokenKind::Sign('(' | '[' | '{') => open += 1,
            ScriptTokenKind::Sign(')' | ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
        let touches = |other: Option<&ScriptToken>, signs: &str, gap: isize| {
            other.is_some_and(|other| {
                let is_near = other.at.checked_add_signed(gap) == Some(token.at);
                is_near && signs.chars().any(|sign| other.is(sign))
            })
        };
        let before = number.checked_sub(1).and_then(|before| tokens.get(before));
        open == 0
            && token.is('=')
            && !touches(before, "=<>!:", 1)
            && !touches(tokens.get(number + 1), "=", -1)
    })
}

/// Splits at commas outside of parentheses.
pub(super) fn parts(mut tokens: &[ScriptToken]) -> Vec<&[ScriptToken]> {
    let mut found = Vec::new();
    while let Some(comma) = outermost(tokens, ',') {
        found.push(tokens.get(..comma).unwrap_or_default());
        tokens = tokens.get(comma + 1..).unwrap_or_default();
    }
    found.push(tokens);
    found.retain(|part| !part.is_empty());
    found
}
