//! Reads shell scripts far enough to see which commands they execute with what: quotes, comments,
//! expansions, here-documents, commands inside of others. It executes and expands nothing.

mod lexer;
mod parts;
mod words;

pub(super) use lexer::read;
pub(super) use words::{Command, Pipeline, Shell, UNKNOWN, Var, Word};
