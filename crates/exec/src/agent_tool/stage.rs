use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    path::Path,
    process::ExitCode,
};

use wf_core::machine::WorkExit;

use super::answer::{FileToolAnswer, FileToolOrder};
use crate::{processes::spawn::OWN_PROGRAM, work_error::WorkError};

/// The argument making this program carry out one request about files. It is not a user command.
pub const TOOL_STAGE_ARG: &str = "__tool";

/// Carries out the request on standard input in the current directory, if the command line asks for it, and
/// prints the answer.
pub fn stage(args: &[OsString]) -> Option<ExitCode> {
    if args.get(1)? != TOOL_STAGE_ARG {
        return None;
    }
    let mut order = String::new();
    let done = io::stdin().read_to_string(&mut order).and_then(|_| print_answer(&order));
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the command line of a request about files.
pub(super) fn command_line() -> Vec<String> {
    [OWN_PROGRAM, TOOL_STAGE_ARG].map(str::to_owned).into()
}

/// True if a command is a request about files.
pub(crate) fn is_stage(argv: &[String]) -> bool {
    argv == command_line()
}

/// Carries out a request in a folder. The inner stage of a sandbox calls it in place of starting a command: it
/// is this program, and confined as a command would be, while the sandbox need not show it.
pub(crate) fn carry_out_in(cwd: &Path, order: &str) -> WorkExit {
    if let Err(error) = rustix::process::chdir(cwd) {
        let reason = format!("cannot enter `{}`: {}", cwd.display(), io::Error::from(error));
        return WorkError::environmental(reason).into();
    }
    WorkExit::Code { code: i32::from(print_answer(order).is_err()) }
}

fn print_answer(order: &str) -> io::Result<()> {
    let answer = match serde_json::from_str::<FileToolOrder>(order) {
        Ok(order) => order.carry_out(Path::new(".")),
        Err(error) => FileToolAnswer::failed(format!("the request is not valid: {error}")),
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    io::stdout().write_all(&line)?;
    io::stdout().flush()
}
