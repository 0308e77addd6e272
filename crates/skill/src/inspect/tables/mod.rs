//! The tables of the rules: text files, so that a rule that needs no code of its own is a line.
//!
//! - [`WordList`]: words, any number in a line.
//! - [`ProgramTable`]: programs, the arguments that they must have, and a text about them.
//! - [`PatternTable`]: a rule, a reason, and the patterns that must all occur in a text.
//!
//! A line that begins with `#` is a comment. The tables are part of the program, and a test reads all of them.

mod patterns;
mod programs;
mod words;

pub(super) use patterns::{PatternTable, pattern};
pub(super) use programs::ProgramTable;
pub(super) use words::{WordList, pairs};
