//! The tools of an agent with real sandboxes and processes.
//!
//! Each sandbox is this program, executed again, and so is each request about files without one: `main` does
//! what that of `wf` does, and runs the tests otherwise.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect fails")]
#![expect(clippy::print_stdout, reason = "the report of a test program")]

mod files;
mod places;
mod scene;
mod scripts;

use std::{ffi::OsString, panic::catch_unwind, process::ExitCode};

use wf_exec::{agent_tool, sandbox};

/// A test by its name.
type NamedTest = (&'static str, fn());

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(ended) = sandbox::stage(&args).or_else(|| agent_tool::stage(&args)) {
        return ended;
    }
    let words: Vec<String> = args.into_iter().skip(1).filter_map(|word| word.into_string().ok()).collect();
    let has = |option: &str| words.iter().any(|word| word == option);
    let is_chosen = |name: &str| {
        let mut filters = words.iter().filter(|word| !word.starts_with('-') && *word != "terse").peekable();
        let fits =
            |filter: &String| if has("--exact") { filter == name } else { name.contains(filter.as_str()) };
        filters.peek().is_none() || filters.any(fits)
    };
    let tests = [files::TESTS, places::TESTS, scripts::TESTS].concat();
    // None of them is ignored.
    let tests = tests.into_iter().filter(|(name, _)| is_chosen(name) && !has("--ignored"));
    if has("--list") {
        tests.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for (name, test) in tests {
        let passed = catch_unwind(test).is_ok();
        failed += usize::from(!passed);
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(101) }
}
