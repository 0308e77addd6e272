use crate::inspect::python::{ScriptToken, ScriptTokenKind, outermost};

/// A statement of Python: its indentation, and its tokens.
pub(super) struct PythonStatement<'a> {
    /// Its indentation.
    pub(super) column: usize,
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
