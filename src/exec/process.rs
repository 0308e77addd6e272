//! Starting, following and ending processes. The only place that starts one.
//!
//! Every process leads a session of its own, and signals go to all that it started: see
//! [`super::tree`].

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Access, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use serde::{Deserialize, Serialize};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use super::pinned::{Held, Pins};
use super::sandbox::{self, Confined, Control, Report, Sandbox};
use super::spawn::{self, Image, Started};
use super::tree::{self, Root};
use super::{Env, Unable};

/// Where programs are looked up without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How many processes at once may each take two more descriptors, of which there is a limit.
const FEW: usize = 64;

/// How long a busy file is given to become free.
const BUSY: Duration = Duration::from_millis(5);

/// What is executed, without a shell, in a session of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program, looked up in the `PATH` of `env` as a shell does, and its arguments.
    pub argv: Vec<String>,
    /// The whole environment; nothing is inherited. Only `PWD` is added, as shells do, so that
    /// a program sees the same with and without one.
    pub env: Env,
    /// Where it runs; absolute.
    pub cwd: PathBuf,
    /// What confines it; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// The files of skills that it may execute; `None`: nothing was said of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins: Option<Arc<Pins>>,
    /// What it can read from its standard input; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// A process that was started. If it is dropped before it was seen to end, everything that it
/// started is killed.
#[derive(Debug)]
pub struct Process {
    /// Its standard output, until somebody reads it.
    pub(super) out: Option<pipe::Receiver>,
    /// Its standard error, until somebody reads it.
    pub(super) err: Option<pipe::Receiver>,
    /// What it writes to, until it was seen to end; `None` also where there are many.
    written: Option<[OwnedFd; 2]>,
    pid: Pid,
    root: Root,
    /// Can be read from when it has ended.
    ends: AsyncFd<OwnedFd>,
    status: Option<ExitStatus>,
    ended: bool,
    confined: Option<Confined>,
    held: Option<Held>,
    control: Option<Control>,
}

impl Command {
    /// The value of `PATH` that the process will see.
    pub fn path(&self) -> Option<&str> {
        let mut path = self.env.iter().filter(|(name, _)| name == "PATH");
        path.next_back().map(|(_, value)| value.as_str())
    }
}

/// Starts a process: its input to read, both outputs piped, no variable inherited. Everything that
/// it starts in turn bears `mark`.
pub fn spawn(command: &Command, mark: &str) -> Result<Process, Unable> {
    spawn_fed(command, mark, None)
}

/// Starts a process that reads from this pipe, if one is given, in place of the command's own
/// input.
pub(super) fn spawn_fed(
    command: &Command,
    mark: &str,
    feed: Option<&OwnedFd>,
) -> Result<Process, Unable> {
    let cwd: PathBuf = command.cwd.components().collect();
    let env = variables(command, &cwd, mark);
    let held = command.pins.as_ref().map(|pins| pins.hold(command));
    let held = held.transpose()?;
    let control = command.sandbox.as_ref().and_then(Sandbox::control);
    let (started, confined) = if let Some(asked) = &command.sandbox {
        let (started, confined) = sandbox::start((command, feed), asked, env, mark)?;
        (started, Some(confined))
    } else {
        (open((command, feed), &cwd, &env)?, None)
    };
    let ends = rustix::process::pidfd_open(started.pid, PidfdFlags::NONBLOCK);
    let ends = ends.map_err(io::Error::from).and_then(watched);
    let ends = ends.map_err(|error| unusable(&error))?;
    let root = Root::new(started.pid, started.start, mark);
    let pipe = |end| piped(end).map_err(|error| unusable(&error));
    let mut process = Process {
        out: None,
        err: None,
        written: (tree::under_way() <= FEW).then_some(started.written),
        pid: started.pid,
        root,
        ends,
        status: None,
        ended: false,
        confined,
        held,
        control,
    };
    process.out = Some(pipe(started.out)?);
    process.err = Some(pipe(started.err)?);
    Ok(process)
}

/// Starts a process that nothing confines.
fn open(
    (command, feed): (&Command, Option<&OwnedFd>),
    cwd: &Path,
    env: &[String],
) -> Result<Started, Unable> {
    let (called, program) = program(command, command.path())?;
    let image = Image {
        program: &called,
        argv: &command.argv,
        env,
        cwd,
    };
    let input = command.input.as_deref().map(spawn::readable).transpose();
    let input = input.map_err(|error| unusable(&error))?;
    spawned(image, feed.or(input.as_ref())).map_err(|error| refused(&error, command, &program))
}

/// What the system is told to execute, and the file that this means.
pub(super) fn program(command: &Command, path: Option<&str>) -> Result<(PathBuf, PathBuf), Unable> {
    let Some(name) = command.argv.first() else {
        return Err(Unable::logical("there is no program to execute"));
    };
    let program = find(name, path, &command.cwd)?;
    Ok((called(name, &program).to_path_buf(), program))
}

/// The whole environment, each name once: of two values the later counts, and only the mark
/// cannot be chosen.
fn variables(command: &Command, cwd: &Path, mark: &str) -> Vec<String> {
    let cwd = cwd.display().to_string();
    let mut variables = BTreeMap::from([("PWD", cwd.as_str())]);
    variables.extend(
        command
            .env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    variables.insert(tree::MARK, mark);
    let variables = variables.into_iter();
    variables
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// Starts a process. A file that was just written may still be open in a process that is about
/// to execute something else, so a busy one is given a moment.
fn spawned(image: Image<'_>, input: Option<&OwnedFd>) -> io::Result<Started> {
    let given: Vec<_> = input.map(|input| (input.as_fd(), 0)).into_iter().collect();
    for _ in 0..3 {
        match spawn::spawn(image, &given) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(BUSY);
            }
            spawned => return spawned,
        }
    }
    spawn::spawn(image, &given)
}

/// The reading end of a pipe that was just made.
fn piped(end: OwnedFd) -> io::Result<pipe::Receiver> {
    rustix::fs::fcntl_setfl(&end, OFlags::NONBLOCK)?;
    pipe::Receiver::from_owned_fd_unchecked(end)
}

#[expect(
    deprecated,
    reason = "its replacement is unsafe; the descriptor is owned, and is never another"
)]
fn watched(process: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(process)
}

fn unusable(error: &io::Error) -> Unable {
    Unable::environmental(format!("a process cannot be followed: {error}"))
}

/// What the system is told to execute: a path stays as it is, since a script sees it, and is
/// looked up from where it runs.
fn called<'a>(name: &'a str, program: &'a Path) -> &'a Path {
    if name.contains('/') {
        Path::new(name)
    } else {
        program
    }
}

/// The program that a name means: a path if it has a slash, else the first executable file of
/// that name in `path`.
pub fn find(name: &str, path: Option<&str>, cwd: &Path) -> Result<PathBuf, Unable> {
    if name.is_empty() {
        return Err(Unable::logical("the name of the program is empty"));
    }
    if name.contains('/') {
        return Ok(cwd.join(name));
    }
    let mut unusable = None;
    for dir in path.unwrap_or(DEFAULT_PATH).split(':') {
        let candidate = cwd.join(dir).join(name);
        // What is mostly not there is asked about once.
        match rustix::fs::access(&candidate, Access::EXEC_OK) {
            Ok(()) if candidate.is_file() => return Ok(candidate),
            Err(Errno::ACCESS) if candidate.is_file() => drop(unusable.get_or_insert(candidate)),
            _ => {}
        }
    }
    Err(Unable::environmental(match unusable {
        Some(file) => format!("`{}` is not executable", file.display()),
        None => format!("there is no program `{name}` in PATH"),
    }))
}

impl Process {
    /// The id of the process, of its group and of its session.
    pub fn id(&self) -> i32 {
        self.root.pid
    }

    /// When it began, in ticks since the boot.
    pub fn start(&self) -> u64 {
        self.root.start
    }

    /// Waits until the process itself has ended; may be dropped while it waits.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            let asked = rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG)?;
            if let Some((_, status)) = asked {
                self.root.ended();
                self.written = None;
                self.status = Some(ExitStatus::from_raw(status.as_raw()));
            } else {
                self.ends.readable().await?.clear_ready();
            }
        }
    }

    /// Asks everything that was started to end.
    pub fn ask_to_end(&self) {
        self.root.signal(Signal::TERM);
    }

    /// Ends everything that was started. What is just being started may be missed: whoever
    /// needs it gone looks again.
    pub fn kill(&self) {
        self.root.signal(Signal::KILL);
    }

    /// Ends everything that stayed in its group.
    pub(super) fn kill_group(&self) {
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
    }

    /// Whether something that it started lives on after its end.
    pub fn has_left_something(&self) -> bool {
        !self.root.is_gone()
    }

    /// What was heard of its sandbox, if it has one.
    pub(super) fn report(&mut self) -> Option<Report> {
        self.confined.as_mut().map(Confined::report)
    }

    /// Why its end does not count: what it executed is not what was approved, because it was touched
    /// meanwhile.
    pub(super) fn disturbed(&self) -> Option<Unable> {
        self.held.as_ref().and_then(Held::disturbed)
    }

    /// The same, because it made a file that decides over wf.
    pub(super) fn meddled(&self) -> Option<Unable> {
        self.control.as_ref().and_then(Control::disturbed)
    }

    /// Nothing of it needs to be killed any more.
    pub(super) fn set_ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
        self.root.ended();
    }
}

/// Says why a program could not be started.
pub(super) fn refused(error: &io::Error, command: &Command, program: &Path) -> Unable {
    let shown = program.display();
    let cwd = command.cwd.display();
    if !command.cwd.is_dir() {
        return Unable::environmental(format!("the working directory `{cwd}` does not exist"));
    }
    match error.kind() {
        io::ErrorKind::NotFound if !program.exists() => {
            Unable::environmental(format!("there is no program `{shown}`"))
        }
        io::ErrorKind::NotFound => Unable::environmental(format!(
            "`{shown}` names an interpreter that does not exist"
        )),
        io::ErrorKind::PermissionDenied if program.is_dir() => {
            Unable::logical(format!("`{shown}` is a folder, not a program"))
        }
        io::ErrorKind::PermissionDenied => {
            Unable::environmental(format!("`{shown}` is not executable in `{cwd}`"))
        }
        io::ErrorKind::InvalidInput => Unable::logical(format!(
            "an argument or a variable of `{shown}` contains a NUL character"
        )),
        io::ErrorKind::ArgumentListTooLong => Unable::environmental(format!(
            "the arguments and the environment of `{shown}` are too long ({} bytes)",
            size(command)
        )),
        io::ErrorKind::ExecutableFileBusy => {
            Unable::environmental(format!("`{shown}` is being written by another process"))
        }
        _ => Unable::environmental(format!("`{shown}` cannot be started: {error}")),
    }
}

fn size(command: &Command) -> usize {
    let args: usize = command.argv.iter().map(|arg| arg.len() + 1).sum();
    let vars = command
        .env
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2);
    args + vars.sum::<usize>()
}

/// Whether a file starts a program by itself: a compiled one, or one that names its interpreter.
/// Shells execute other files as scripts of their own.
pub(super) fn starts_itself(program: &Path) -> bool {
    let mut head = [0; 4];
    let read = std::fs::File::open(program).and_then(|mut file| {
        let length = io::Read::read(&mut file, &mut head)?;
        Ok(length)
    });
    match read {
        Ok(_) => head.starts_with(b"#!") || head == *b"\x7fELF",
        // Executable and not readable: only the kernel can tell, and scripts must be readable.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests;
