//! Reads shell scripts far enough to find the executed commands and their arguments: quotes,
//! comments, expansions, here-documents, nested commands. It executes and expands nothing.

mod documents;
mod expansions;
mod groups;
mod lexer;
mod parts;
mod words;

pub(super) use lexer::{DECLARING, read_script};
pub(super) use words::{CommandWord, ParsedShellScript, ShellCommand, ShellPipeline, UNKNOWN, VariableUse};
