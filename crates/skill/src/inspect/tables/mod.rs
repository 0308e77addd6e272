//! The tables of the rules: text files, so a rule without code of its own is a line.
//!
//! Each kind has a folder for its texts, and a reader of the same name:
//!
//! - `words`, a [`WordList`] or [`pairs`]: words, any number in a line, or pairs.
//! - `programs`, a [`ProgramTable`]: programs, the arguments they must have, and a text about them.
//! - `patterns`, a [`PatternTable`]: a rule, a reason, and the patterns, all of which occur in a text.
//!
//! A line beginning with `#` is a comment. **Invariant:** the tables are part of the program, and a test reads those of
//! programs and patterns as a whole.
//!
//! Start at `words`.

mod patterns;
mod programs;
mod words;

pub(super) use patterns::{PatternTable, pattern};
pub(super) use programs::ProgramTable;
pub(super) use words::{WordList, pairs};
