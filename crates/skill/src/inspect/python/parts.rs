use super::tokens::{ScriptToken, ScriptTokenKind};

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
pub(in crate::inspect) fn parts(mut tokens: &[ScriptToken]) -> Vec<&[ScriptToken]> {
    let mut found = Vec::new();
    while let Some(comma) = outermost(tokens, ',') {
        found.push(tokens.get(..comma).unwrap_or_default());
        tokens = tokens.get(comma + 1..).unwrap_or_default();
    }
    found.push(tokens);
    found.retain(|part| !part.is_empty());
    found
}
