//! Reads Python, and what looks like it from afar, far enough to see calls, imports and literals:
//! comments and texts are told from code. It executes nothing.

mod calls;
mod tokens;

pub(super) use calls::{Call, Code, read};
pub(super) use tokens::{Dialect, Kind, Token, tokens};
