//! Reads shell scripts far enough to see which commands they execute with what: quotes, comments,
//! expansions, here-documents, commands inside of others. It executes and expands nothing.

mod documents;
mod expansions;
mod groups;
mod lexer;
mod parts;
mod words;

pub(super) use lexer::{DECLARING, read};
pub(super) use words::{Command, Pipeline, Shell, UNKNOWN, Var, Word};
