//! The identity of the running program, as states and messages name it.

use std::sync::OnceLock;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version with the commit.
static NAMED: OnceLock<String> = OnceLock::new();

/// Names the commit of the program's sources, once, before anything else; an empty one is unknown.
pub fn set_commit(commit: &str) {
    if !commit.is_empty() {
        let _ = NAMED.set(format!("{VERSION} ({commit})"));
    }
}

/// Returns the version, with the commit where it is known: `0.1.0 (1f2e3d4c5b6a)`.
pub fn version() -> &'static str {
    NAMED.get().map_or(VERSION, String::as_str)
}
