//! The `wf` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    wf::cli::main(std::env::args_os())
}
