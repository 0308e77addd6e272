//! The messages of a worker to whoever started it.

use std::io::Write as _;

/// Writes a line to standard error. If nobody reads it, nothing is lost: it is in the history, too.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
