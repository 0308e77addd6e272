//! The tables of the rules: text files, so that a rule that needs no code of its own is a line.
//!
//! Each kind has a folder for its texts, and a reader of the same name:
//!
//! - `words`, a [`WordList`] or [`pairs`]: words, any number in a line, or pairs.
//! - `programs`, a [`ProgramTable`]: programs, the arguments that they must have, and a text about them.
//! - `patterns`, a [`PatternTable`]: a rule, a reason, and the patterns that must all occur in a text.
//!
//! A line that begins with `#` is a comment. **Invariant:** the tables are part of the program, and a test reads those of
//! programs and patterns as a whole.
//!
//! Start at `words`.

mod patterns;
mod programs;
mod words;

pub(super) use patterns::{PatternTable, pattern};
pub(super) use programs::ProgramTable;
pub(super) use words::{WordList, pairs};
