//! The way to start this program again: as the supervisor of a run's processes, which is a hidden command, or with a
//! command working on the same workspace.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::Arc,
};

use rustix::process::{Resource, getrlimit};

use super::{CliExitCode, CommandError};
use crate::{FOR_TESTS, Host};
use wf_exec::{
    ProcessExecutor,
    supervisor::{SupervisorClient, SupervisorStart, serve},
};
use wf_store::{StateFolder, StoreError};

/// The word to start this program as a supervisor. It is not a command for users.
const SUPERVISOR_ARG: &str = "__keep";

/// This program, even if its file was replaced since it was started.
const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// Runs as the supervisor, if the command line says so.
pub fn run_supervisor(args: &[OsString]) -> Option<ExitCode> {
    let [_, word, dir, id] = args else {
        return None;
    };
    if word != SUPERVISOR_ARG {
        return None;
    }
    let served = Host::read_as("keeper").map(|env| {
        let id = id.to_string_lossy();
        serve(Path::new(dir), &id, env.clock())
    });
    Some(match served {
        Ok(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// The variable by which the allocator of the system learns how many areas to set apart for threads.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Starts this program again, in place of itself, with one area of memory for all threads, where its address space is
/// limited: each area takes 64 MiB of that, used or not, and a process that gets no more is aborted.
pub fn restart_where_memory_is_limited(args: &[OsString]) {
    let is_limited = getrlimit(Resource::As).current.is_some();
    if !is_limited || std::env::var_os(ARENAS).is_some() {
        return;
    }
    let program = std::env::current_exe().ok().filter(|program| program.exists());
    #[expect(clippy::disallowed_methods, reason = "this is wf itself, and no child of it")]
    let mut command = Command::new(program.unwrap_or_else(own_program));
    let (name, rest) =
        args.split_first().map_or((OsStr::new("wf"), args), |(name, rest)| (name.as_os_str(), rest));
    // Where that fails, it goes on as it is.
    let _ = command.arg0(name).args(rest).env(ARENAS, "1").exec();
}

/// A unique name for a supervisor: always random, even where tests set the ids of runs.
fn unique_id() -> Result<String, CommandError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        CommandError::new(CliExitCode::State, format!("cannot read random bytes from the system: {error}"))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The path for starting this program again.
pub fn own_program() -> PathBuf {
    if Path::new(OWN_EXECUTABLE).exists() {
        PathBuf::from(OWN_EXECUTABLE)
    } else {
        std::env::current_exe().unwrap_or_default()
    }
}

/// Returns this program, to be started again in its workspace, with the state in use here. An interrupt at the
/// terminal does not reach it.
pub fn own_command(host: &Host) -> Command {
    #[expect(clippy::disallowed_methods, reason = "this is wf itself, which ends what it starts")]
    let mut command = Command::new(own_program());
    let workspace = host.workspace();
    command.arg("--state").arg(&workspace.state).arg("--quiet");
    command.current_dir(&workspace.root).stdin(Stdio::null()).process_group(0);
    command
}

/// Starts a supervisor for the runs of a state folder.
pub fn start_supervisor(host: &Host, state: &Path) -> Result<ProcessExecutor, CommandError> {
    let folder = StateFolder::new(state);
    folder.create()?;
    let program = own_program();
    let start = SupervisorStart {
        dir: &folder.keepers(),
        id: unique_id()?,
        program: (&program, &[SUPERVISOR_ARG]),
        env: host.vars_named(&FOR_TESTS),
    };
    let unable = |error| StoreError::io("start a process that listens in", &folder.keepers(), &error);
    let keeper = SupervisorClient::start(start).map_err(unable)?;
    Ok(ProcessExecutor::Supervised(Arc::new(keeper)))
}
