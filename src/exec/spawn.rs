//! The one call that starts a process: a session of its own, both outputs piped, nothing to read.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::PipeFlags;
use rustix::process::Pid;

/// `POSIX_SPAWN_SETSID`, of which `nix` has no name: the same in every C library of Linux.
const SETSID: i32 = 0x80;

/// Held while the current folder is that of a process that is being started.
static FOLDER: Mutex<()> = Mutex::new(());

/// What is started.
pub(super) struct Image<'a> {
    /// The file.
    pub(super) program: &'a Path,
    /// The arguments, the name of the program first.
    pub(super) argv: &'a [String],
    /// The whole environment, `NAME=value`.
    pub(super) env: &'a [String],
    /// Where it runs.
    pub(super) cwd: &'a Path,
}

/// A process that was started, and the reading ends of its outputs.
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) out: OwnedFd,
    pub(super) err: OwnedFd,
}

/// Starts a process. The working directory is changed for as long as that takes, because the
/// system's call has no word for it that every C library knows.
pub(super) fn spawn(image: &Image<'_>) -> io::Result<Started> {
    let program = CString::new(image.program.as_os_str().as_bytes())?;
    let argv = strings(image.argv)?;
    let env = strings(image.env)?;
    let (out, out_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (err, err_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let nothing = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut files = PosixSpawnFileActions::init()?;
    for (end, number) in [(&nothing, 0), (&out_end, 1), (&err_end, 2)] {
        files.add_dup2(end.as_raw_fd(), number)?;
    }
    let attributes = attributes()?;
    let started = inside(image.cwd, || {
        Ok(posix_spawn(
            program.as_c_str(),
            &files,
            &attributes,
            &argv,
            &env,
        )?)
    })?;
    let pid = Pid::from_raw(started.as_raw()).ok_or(io::ErrorKind::Other)?;
    Ok(Started { pid, out, err })
}

/// A session of its own, and signals as a program expects them: Rust ignores broken pipes.
fn attributes() -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    let mut restored = SigSet::empty();
    restored.add(Signal::SIGPIPE);
    attributes.set_sigdefault(&restored)?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::from_bits_retain(SETSID),
    )?;
    Ok(attributes)
}

/// Does something in a folder.
fn inside<T>(folder: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let _turn = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let before = rustix::fs::open(".", flags, Mode::empty())?;
    rustix::process::chdir(folder)?;
    let done = work();
    rustix::process::fchdir(before)?;
    done
}

fn strings(texts: &[String]) -> io::Result<Vec<CString>> {
    let strings = texts.iter().map(|text| CString::new(text.as_bytes()));
    Ok(strings.collect::<Result<_, _>>()?)
}
