//! Reads Python and similar languages far enough to find calls, imports and literals: comments and
//! texts are separated from code. It executes nothing.

mod calls;
mod parts;
mod tokens;

pub(super) use calls::{ParsedCall, ParsedProgram, read};
pub(super) use parts::{assigns, outermost, parts};
pub(super) use tokens::{ScriptDialect, ScriptToken, ScriptTokenKind, tokens};
