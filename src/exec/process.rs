//! Spawning, finding and ending processes. The only place that starts one.
//!
//! Every process leads a group of its own, and signals go to the whole group.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::Access;
use rustix::process::{Pid, Signal};
use tokio::process::Child;

use super::{Env, Unable};

/// Where programs are looked up without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What is executed, without a shell, in a process group of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program, looked up in the `PATH` of `env` as a shell does, and its arguments.
    pub argv: Vec<String>,
    /// The whole environment; nothing is inherited. Only `PWD` is added, as shells do, so that
    /// a program sees the same with and without one.
    pub env: Env,
    /// Where it runs; absolute.
    pub cwd: PathBuf,
}

/// A process that was started. If it is dropped before it was seen to end, its group is killed.
#[derive(Debug)]
pub struct Process {
    pub(super) child: Child,
    group: Pid,
    ended: bool,
}

impl Command {
    /// The value of `PATH` that the process will see.
    pub fn path(&self) -> Option<&str> {
        let mut path = self.env.iter().filter(|(name, _)| name == "PATH");
        path.next_back().map(|(_, value)| value.as_str())
    }
}

/// Starts a process: nothing to read, both outputs piped, no variable inherited.
pub fn spawn(command: &Command) -> Result<Process, Unable> {
    let Some((name, args)) = command.argv.split_first() else {
        return Err(Unable::logical("there is no program to execute"));
    };
    let program = find(name, command.path(), &command.cwd)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that starts processes"
    )]
    let mut std = std::process::Command::new(called(name, &program));
    let cwd: PathBuf = command.cwd.components().collect();
    std.arg0(name)
        .args(args)
        .env_clear()
        .env("PWD", &cwd)
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = tokio::process::Command::from(std)
        .spawn()
        .map_err(|error| refused(&error, command, &program))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let group = group.ok_or_else(|| Unable::environmental(format!("`{name}` has no id")))?;
    Ok(Process {
        child,
        group,
        ended: false,
    })
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
        if candidate.is_file() {
            if rustix::fs::access(&candidate, Access::EXEC_OK).is_ok() {
                return Ok(candidate);
            }
            unusable.get_or_insert(candidate);
        }
    }
    Err(Unable::environmental(match unusable {
        Some(file) => format!("`{}` is not executable", file.display()),
        None => format!("there is no program `{name}` in PATH"),
    }))
}

impl Process {
    /// The id of the process, and of its group.
    pub fn id(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// Asks every process of the group to end.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends every process of the group.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Whether some process of the group lives. What nobody has reaped yet does not: in a
    /// container that may take for ever.
    pub fn has_group(&self) -> bool {
        rustix::process::test_kill_process_group(self.group).is_ok() && has_living(self.id())
    }

    /// Nothing of it needs to be killed any more.
    pub(super) fn set_ended(&mut self) {
        self.ended = true;
    }

    /// A group that is gone needs no signal, so failure is no news.
    fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.group, signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
    }
}

/// Looks through the processes of the machine for a living one of a group; where they cannot be
/// seen, there may be one.
fn has_living(group: i32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    processes.flatten().any(|process| {
        let stat = std::fs::read(process.path().join("stat")).unwrap_or_default();
        is_living(&String::from_utf8_lossy(&stat), group)
    })
}

/// Whether a line of `/proc/<id>/stat`, `id (name) state parent group …`, tells of a living
/// process of a group. The name may contain anything.
fn is_living(stat: &str, group: i32) -> bool {
    let Some((_, rest)) = stat.rsplit_once(')') else {
        return false;
    };
    let mut fields = rest.split_whitespace();
    let living = !matches!(fields.next(), None | Some("Z" | "X"));
    living && fields.nth(1) == Some(group.to_string().as_str())
}

/// Says why a program could not be started.
fn refused(error: &io::Error, command: &Command, program: &Path) -> Unable {
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
