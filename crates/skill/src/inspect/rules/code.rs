use super::look::FileInspection;
use super::places::starts_later;
use crate::inspect::Rule;
use crate::inspect::python::{ParsedProgram, ScriptTokenKind};

/// Checks the texts in a program that name paths of programs started later. A text on its own is
/// documentation, and one with spaces is a message.
pub(super) fn strings(inspection: &mut FileInspection<'_>, program: &ParsedProgram) {
    let mut begins = true;
    for (at, token) in program.tokens.iter().enumerate() {
        if let ScriptTokenKind::Text(text, _) = &token.kind {
            let next = program.tokens.get(at + 1);
            let is_alone = begins && next.is_none_or(|next| next.kind == ScriptTokenKind::End);
            if !is_alone && !text.contains(char::is_whitespace) && starts_later(text) {
                let reason = "it refers to a location from which programs are started later";
                inspection.report(Rule::Persistence, token.at, reason);
            }
            if !is_alone && !text.contains(char::is_whitespace) {
                inspection.path(text, token.at);
            }
            if text.contains("/dev/tcp/") && !is_alone {
                inspection.report(Rule::ReverseShell, token.at, "it opens a connection through /dev/tcp");
            }
        }
        begins = token.kind == ScriptTokenKind::End;
    }
}
