use crate::skill::inspect::python::{Kind, Token};

/// A statement of Python: its depth on the page, and its tokens.
pub(super) struct Statement<'a> {
    /// How far it is indented.
    pub(super) column: usize,
    /// Its tokens.
    pub(super) tokens: &'a [Token],
}

/// The statements of a program; what follows the colon of another on its line is one of its own.
pub(super) fn statements<'a>(text: &str, base: usize, tokens: &'a [Token]) -> Vec<Statement<'a>> {
    let mut found = Vec::new();
    for line in tokens.split(|token| token.kind == Kind::End || token.is(';')) {
        let Some(first) = line.first() else { continue };
        let before = text
            .get(..first.at.saturating_sub(base))
            .unwrap_or_default();
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
            Some(Statement { column, tokens })
        }));
    }
    found
}

const BLOCKS: [&str; 12] = [
    "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class",
    "async",
];

/// Where a sign stands in no parentheses.
pub(super) fn outermost(tokens: &[Token], sign: char) -> Option<usize> {
    let mut open = 0_usize;
    tokens.iter().position(|token| {
        match token.kind {
            Kind::Sign('(' | '[' | '{') => open += 1,
            Kind::Sign(')' | ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && token.is(sign)
    })
}

/// Where the sign of an assignment stands.
pub(super) fn assigns(tokens: &[Token]) -> Option<usize> {
    let mut open = 0_usize;
    tokens.iter().enumerate().position(|(number, token)| {
        match token.kind {
            Kind::Sign('(' | '[' | '{') => open += 1,
            Kind::Sign(')' | ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
        let touches = |other: Option<&Token>, signs: &str, gap: isize| {
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

/// The parts between the commas that stand in no parentheses.
pub(super) fn parts(mut tokens: &[Token]) -> Vec<&[Token]> {
    let mut found = Vec::new();
    while let Some(comma) = outermost(tokens, ',') {
        found.push(tokens.get(..comma).unwrap_or_default());
        tokens = tokens.get(comma + 1..).unwrap_or_default();
    }
    found.push(tokens);
    found.retain(|part| !part.is_empty());
    found
}
