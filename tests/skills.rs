//! The standard of skills, against what the published reference validator says.
//!
//! `tests/skills/inputs.json` has texts; `recorded.json` has what `skills-ref` 0.1.1 says about
//! them and about seeded mutants of them, written by `tests/skills/differential.sh`.

mod recorded;
mod reference;
