use super::look::Look;
use super::places::starts_later;
use crate::skill::inspect::Rule;
use crate::skill::inspect::python::{Code, Kind};

/// Looks at the texts in a program that name places where programs are started later. What stands
/// alone is documentation, and what has spaces is a message.
pub(super) fn strings(look: &mut Look<'_>, code: &Code) {
    let mut begins = true;
    for (at, token) in code.tokens.iter().enumerate() {
        if let Kind::Text(text, _) = &token.kind {
            let next = code.tokens.get(at + 1);
            let is_alone = begins && next.is_none_or(|next| next.kind == Kind::End);
            if !is_alone && !text.contains(char::is_whitespace) && starts_later(text) {
                let why = "it names a place where programs are started later";
                look.find(Rule::Persistence, token.at, why);
            }
            if !is_alone && !text.contains(char::is_whitespace) {
                look.path(text, token.at);
            }
            if text.contains("/dev/tcp/") && !is_alone {
                look.find(
                    Rule::ReverseShell,
                    token.at,
                    "it opens a connection through /dev/tcp",
                );
            }
        }
        begins = token.kind == Kind::End;
    }
}
