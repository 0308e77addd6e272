//! The reports that test runners write: JUnit XML, TAP, the JSON of `cargo nextest` (libtest) and of pytest, and the
//! text of Python's `unittest`.
//!
//! An exit code says that a program ended so; a report says which tests ran. A product ending the runner early
//! leaves no report, or one that is not complete.
//!
//! **Invariant:** a report that is cut off, or contradicts its own numbers, is an error and never a smaller count.

mod counts;
mod json;
mod junit;
mod tap;
#[cfg(test)]
mod tests;
mod unittest;

use counts::TestEnd;
pub use counts::{MAX_REPORT_BYTES, TestCounts, TestReportError, read_test_report};
