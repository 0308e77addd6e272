//! Starts, follows and terminates processes. No other module starts one.
//!
//! Every process leads a session of its own, and signals go to all its descendants: see
//! [`super::tree`].

use std::{
    collections::BTreeMap,
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::process::ExitStatusExt as _,
    },
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::Arc,
    time::Duration,
};

use rustix::{
    fs::{Access, OFlags},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions},
};
use serde::{Deserialize, Serialize};
use tokio::{io::unix::AsyncFd, net::unix::pipe};

use wf_model::EngineFailure;

use super::{
    memory_room,
    spawn::{self, ProcessImage, SpawnedProcess},
    tree::{self, LivingProcess, ProcessRoot},
};
use crate::{
    ProcessEnv,
    pinned::{PinnedFiles, SkillFileGuard},
    sandbox::{self, ControlFiles, PreparedSandbox, SandboxHandle, SandboxReport, SandboxSpec},
    work_error::WorkError,
};

const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The number of concurrent processes up to which each may take two more descriptors, which are limited.
const MANY_PROCESSES_THRESHOLD: usize = 64;

/// The time given to a busy file to become free.
const BUSY_FILE_WAIT: Duration = Duration::from_millis(5);

/// A command executed without a shell, in a session of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCommand {
    /// The program, looked up in the `PATH` of `env` as a shell does, and its arguments.
    pub argv: Vec<String>,
    /// The whole environment; nothing is inherited. Only `PWD` is added, as shells do, so a program sees the same with
    /// and without one.
    pub env: ProcessEnv,
    /// The working directory; absolute.
    pub cwd: PathBuf,
    /// The sandbox; `None`: unconfined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxSpec>,
    /// The files of skills it may execute; `None`: not restricted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins: Option<Arc<PinnedFiles>>,
    /// The content of its standard input; `None`: empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// A started process. Dropping it before its exit was seen kills everything it started.
#[derive(Debug)]
pub struct ChildProcess {
    /// Its standard output, until it is taken.
    pub(super) out: Option<pipe::Receiver>,
    /// Its standard error, until it is taken.
    pub(super) err: Option<pipe::Receiver>,
    /// The ends to which it writes, until its exit was seen; `None` also if many processes run.
    written: Option<[OwnedFd; 2]>,
    pid: Pid,
    root: ProcessRoot,
    /// Readable once it has exited.
    exit_fd: AsyncFd<OwnedFd>,
    status: Option<ExitStatus>,
    ended: bool,
    sandbox: Option<SandboxHandle>,
    skill_guard: Option<SkillFileGuard>,
    control: Option<Box<ControlFiles>>,
}

impl ProcessCommand {
    /// Returns an unconfined command with an empty input.
    pub fn new(argv: Vec<String>, env: ProcessEnv, cwd: PathBuf) -> Self {
        Self { argv, env, cwd, sandbox: None, pins: None, input: None }
    }

    pub fn path(&self) -> Option<&str> {
        let mut path = self.env.iter().filter(|(name, _)| name == "PATH");
        path.next_back().map(|(_, value)| value.as_str())
    }
}

/// Starts a process: standard input from the command, both outputs piped, no inherited variables.
/// Its descendants bear `mark`; its sandbox is the prepared one.
pub(crate) fn spawn(
    command: &ProcessCommand,
    mark: &str,
    prepared: PreparedSandbox,
) -> Result<ChildProcess, WorkError> {
    spawn_fed(command, mark, prepared, None)
}

/// Starts a process reading from the given pipe, if any, in place of the command's own input.
pub(super) fn spawn_fed(
    command: &ProcessCommand,
    mark: &str,
    prepared: PreparedSandbox,
    feed: Option<&OwnedFd>,
) -> Result<ChildProcess, WorkError> {
    let PreparedSandbox { sandbox, control } = prepared;
    let cwd: PathBuf = command.cwd.components().collect();
    let env = variables(command, &cwd, mark);
    let guard = command.pins.as_ref().map(|pins| pins.guard_command(command));
    let guard = guard.transpose()?;
    let (started, confined) = if let Some(spec) = &sandbox {
        let (started, confined) = sandbox::start(command, feed, spec, env, mark)?;
        (started, Some(confined))
    } else {
        (spawn_unconfined(command, feed, &cwd, &env)?, None)
    };
    memory_room::offer_first(started.pid);
    let ends = rustix::process::pidfd_open(started.pid, PidfdFlags::NONBLOCK);
    let ends = ends.map_err(io::Error::from).and_then(watched);
    let ends = ends.map_err(|error| unusable(&error))?;
    let root = ProcessRoot::new(started.pid, started.start, mark);
    let pipe = |end| piped(end).map_err(|error| unusable(&error));
    let mut process = ChildProcess {
        out: None,
        err: None,
        written: (tree::under_way() <= MANY_PROCESSES_THRESHOLD).then_some(started.written),
        pid: started.pid,
        root,
        exit_fd: ends,
        status: None,
        ended: false,
        sandbox: confined,
        skill_guard: guard,
        control,
    };
    process.out = Some(pipe(started.out)?);
    process.err = Some(pipe(started.err)?);
    Ok(process)
}

/// Starts an unconfined process.
fn spawn_unconfined(
    command: &ProcessCommand,
    feed: Option<&OwnedFd>,
    cwd: &Path,
    env: &[String],
) -> Result<SpawnedProcess, WorkError> {
    let (called, program) = program(command, command.path())?;
    let image = ProcessImage { program: &called, argv: &command.argv, env, cwd };
    let input = command.input.as_ref().map(|text| spawn::readable(text.as_bytes())).transpose();
    let input = input.map_err(|error| unusable(&error))?;
    spawn_retrying(image, feed.or(input.as_ref())).map_err(|error| spawn_error(&error, command, &program))
}

/// Returns the path to execute, and the file to which it resolves.
pub(crate) fn program(command: &ProcessCommand, path: Option<&str>) -> Result<(PathBuf, PathBuf), WorkError> {
    let Some(name) = command.argv.first() else {
        return Err(WorkError::logical("no program to execute"));
    };
    let program = find(name, path, &command.cwd)?;
    Ok((program_path(name, &program).to_path_buf(), program))
}

/// Returns the whole environment, each name once: the last value wins, and only the mark cannot be
/// overridden.
fn variables(command: &ProcessCommand, cwd: &Path, mark: &str) -> Vec<String> {
    let cwd = cwd.display().to_string();
    let mut variables = BTreeMap::from([("PWD", cwd.as_str())]);
    variables.extend(command.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    variables.insert(tree::MARK_VARIABLE, mark);
    let variables = variables.into_iter();
    variables.map(|(name, value)| format!("{name}={value}")).collect()
}

/// Starts a process. A file that was just written may still be open in a process about to execute another program, so a
/// busy one is retried for a moment.
fn spawn_retrying(image: ProcessImage<'_>, input: Option<&OwnedFd>) -> io::Result<SpawnedProcess> {
    let descriptors: Vec<_> = input.map(|input| (input.as_fd(), 0)).into_iter().collect();
    for _ in 0..3 {
        match spawn::spawn(image, &descriptors) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(BUSY_FILE_WAIT);
            }
            spawned => return spawned,
        }
    }
    spawn::spawn(image, &descriptors)
}

/// Wraps the reading end of a new pipe.
fn piped(end: OwnedFd) -> io::Result<pipe::Receiver> {
    rustix::fs::fcntl_setfl(&end, OFlags::NONBLOCK)?;
    pipe::Receiver::from_owned_fd_unchecked(end)
}

#[expect(deprecated, reason = "its replacement is unsafe; the descriptor is owned, and is never another")]
fn watched(process: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(process)
}

fn unusable(error: &io::Error) -> WorkError {
    WorkError::environmental(format!("cannot watch the process: {error}"))
}

/// Returns the path to execute: a path stays as it is, since a script sees it, and is resolved from
/// the working directory.
fn program_path<'a>(name: &'a str, program: &'a Path) -> &'a Path {
    if name.contains('/') { Path::new(name) } else { program }
}

/// Finds the program of a name: a path if it contains a slash, else the first executable file of
/// that name in `path`.
pub fn find(name: &str, path: Option<&str>, cwd: &Path) -> Result<PathBuf, WorkError> {
    if name.is_empty() {
        return Err(WorkError::logical("the program name is empty"));
    }
    if name.contains('/') {
        return Ok(cwd.join(name));
    }
    let mut unusable = None;
    for dir in path.unwrap_or(DEFAULT_PATH).split(':') {
        let candidate = cwd.join(dir).join(name);
        // Candidates mostly do not exist, so a single call is made for each.
        match rustix::fs::access(&candidate, Access::EXEC_OK) {
            Ok(()) if candidate.is_file() => return Ok(candidate),
            Err(Errno::ACCESS) if candidate.is_file() => drop(unusable.get_or_insert(candidate)),
            _ => {}
        }
    }
    Err(WorkError::environmental(match unusable {
        Some(file) => format!("`{}` is not executable", file.display()),
        None => format!("program `{name}` is not in PATH"),
    }))
}

impl ChildProcess {
    /// Returns the id of the process, its group and its session.
    pub fn id(&self) -> i32 {
        self.root.pid
    }

    /// Returns the start time in clock ticks since boot.
    pub fn start(&self) -> u64 {
        self.root.start
    }

    /// Waits until the process itself has exited; cancel-safe.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            let answer = rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG)?;
            if let Some((_, status)) = answer {
                self.root.note_exit();
                self.written = None;
                self.status = Some(ExitStatus::from_raw(status.as_raw()));
            } else {
                self.exit_fd.readable().await?.clear_ready();
            }
        }
    }

    /// Asks all its processes to terminate.
    pub fn ask_to_end(&self) {
        self.root.signal(Signal::TERM);
    }

    /// Kills all its processes. One that is just being started may be missed, so the caller must
    /// look again if it must be gone.
    pub fn kill(&self) {
        self.root.signal(Signal::KILL);
    }

    /// Kills everything left in its group.
    pub(super) fn kill_group(&self) {
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
    }

    /// Returns the descendants living on after its exit.
    pub fn descendants(&self) -> Vec<LivingProcess> {
        if self.root.is_gone() { Vec::new() } else { self.root.members() }
    }

    /// True if a descendant lives on after its exit.
    pub fn has_living_descendant(&self) -> bool {
        !self.root.is_gone()
    }

    pub(super) fn report(&mut self) -> Option<SandboxReport> {
        self.sandbox.as_mut().map(SandboxHandle::report)
    }

    /// Returns the reason why its result does not count: a file it executed was touched meanwhile and may not be the
    /// approved one.
    pub(super) fn file_change_reason(&self) -> Option<WorkError> {
        self.skill_guard.as_ref().and_then(SkillFileGuard::change_reason)
    }

    /// Returns the reason why its result does not count: it created a control file. All of its processes have ended.
    pub(super) async fn control_file_reason(&mut self) -> Option<WorkError> {
        let control = self.control.take()?;
        let search = tokio::task::spawn_blocking(move || control.violation());
        search.await.unwrap_or_else(|error| {
            let reason = format!("cannot look for control files that the work created: {error}");
            Some(WorkError::engine(EngineFailure::Setup, reason))
        })
    }

    /// Marks it as fully ended: there is nothing left to kill.
    pub(super) fn set_ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
        self.root.note_exit();
    }
}

/// Explains why a program could not be started.
pub(crate) fn spawn_error(error: &io::Error, command: &ProcessCommand, program: &Path) -> WorkError {
    let shown = program.display();
    let cwd = command.cwd.display();
    if !command.cwd.is_dir() {
        return WorkError::environmental(format!("the working directory `{cwd}` does not exist"));
    }
    match error.kind() {
        io::ErrorKind::NotFound if !program.exists() => {
            WorkError::environmental(format!("program `{shown}` does not exist"))
        }
        io::ErrorKind::NotFound => {
            WorkError::environmental(format!("the interpreter of `{shown}` does not exist"))
        }
        io::ErrorKind::PermissionDenied if program.is_dir() => {
            WorkError::logical(format!("`{shown}` is a folder, not a program"))
        }
        io::ErrorKind::PermissionDenied => {
            WorkError::environmental(format!("`{shown}` is not executable in `{cwd}`"))
        }
        io::ErrorKind::InvalidInput => {
            WorkError::logical(format!("an argument or a variable of `{shown}` contains a NUL character"))
        }
        io::ErrorKind::ArgumentListTooLong => WorkError::environmental(format!(
            "arguments and environment of `{shown}` are too long ({} bytes)",
            size(command)
        )),
        io::ErrorKind::ExecutableFileBusy => {
            WorkError::environmental(format!("`{shown}` is being written by another process"))
        }
        _ => WorkError::environmental(format!("cannot start `{shown}`: {error}")),
    }
}

fn size(command: &ProcessCommand) -> usize {
    let args: usize = command.argv.iter().map(|arg| arg.len() + 1).sum();
    let vars = command.env.iter().map(|(name, value)| name.len() + value.len() + 2);
    args + vars.sum::<usize>()
}

/// True if the kernel can start a file: a compiled one, or one naming its interpreter. Shells execute other files as
/// their own scripts.
pub(super) fn starts_itself(program: &Path) -> bool {
    let mut head = [0; 4];
    match std::fs::File::open(program).and_then(|mut file| io::Read::read(&mut file, &mut head)) {
        Ok(_) => head.starts_with(b"#!") || head == *b"\x7fELF",
        // Executable but unreadable: only the kernel can tell, and scripts must be readable.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests;
