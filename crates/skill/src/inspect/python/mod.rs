//! Reads Python and similar languages far enough to find calls, imports and literals: comments and
//! texts are separated from code. It executes nothing.

mod calls;
mod tokens;

pub(super) use calls::{ParsedCall, ParsedProgram, read_program};
pub(super) use tokens::{ScriptDialect, ScriptToken, ScriptTokenKind, arguments, assigns, outermost, tokens};
