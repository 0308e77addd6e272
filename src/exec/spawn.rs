//! The calls that start a process.

use std::ffi::CString;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::pipe::PipeFlags;
use rustix::process::Pid;
use rustix::time::ClockId;

/// `POSIX_SPAWN_SETSID`, of which `nix` has no name: the same in every C library of Linux.
const SETSID: i32 = 0x80;

/// This program, whatever became of its file since it was started.
pub(super) const SELF: &str = "/proc/self/exe";

/// The least number of a copy of what is given: no process is given one that high.
const GIVEN: i32 = 16;

/// Held while the current folder is that of a process that is being started: the one of this process,
/// once it was left.
static FOLDER: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Nothing to read, once it was opened.
static NOTHING: OnceLock<OwnedFd> = OnceLock::new();

/// How many signals are the system's and the C library's own, which ignores its two; those for real
/// time follow.
const OF_THE_SYSTEM: u32 = 33;

/// The signals that are set back for what is started.
static RESTORED: OnceLock<SigSet> = OnceLock::new();

/// What is started.
#[derive(Clone, Copy)]
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
    /// The ends that it writes to. As long as somebody has them besides it, its end is told once: by
    /// itself, and not by each of its outputs before that.
    pub(super) written: [OwnedFd; 2],
    /// When it began, in ticks since the boot, if that could be told.
    pub(super) start: Option<u64>,
}

/// Starts a process in a session of its own, both outputs piped. It gets these descriptors under
/// these numbers; as standard input, if none is given, nothing to read.
pub(super) fn spawn(image: Image<'_>, given: &[(BorrowedFd<'_>, i32)]) -> io::Result<Started> {
    let (out, out_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (err, err_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let nothing = nothing()?;
    let mut files = PosixSpawnFileActions::init()?;
    let usual = [(nothing, 0), (out_end.as_fd(), 1), (err_end.as_fd(), 2)];
    // None of them may bear a number that another is to get.
    let high = given.iter().map(|(end, number)| {
        let end = rustix::io::fcntl_dupfd_cloexec(end, GIVEN)?;
        io::Result::Ok((end, *number))
    });
    let high: Vec<_> = high.collect::<io::Result<_>>()?;
    let given = high.iter().map(|(end, number)| (end.as_fd(), *number));
    for (end, number) in usual.into_iter().chain(given) {
        files.add_dup2(end.as_raw_fd(), number)?;
    }
    let before = ticks();
    let pid = start(image, &files, SETSID)?;
    // It began between: mostly there is but one answer.
    let start = before.filter(|before| ticks() == Some(*before));
    let written = [out_end, err_end];
    Ok(Started {
        pid,
        out,
        err,
        written,
        start,
    })
}

/// Starts a process that has the outputs of this one, this input or nothing to read, and none of
/// these descriptors.
pub(super) fn beside(
    image: Image<'_>,
    input: Option<&OwnedFd>,
    without: &[i32],
) -> io::Result<Pid> {
    let mut files = PosixSpawnFileActions::init()?;
    match input {
        Some(input) => files.add_dup2(input.as_raw_fd(), 0)?,
        None => files.add_dup2(nothing()?.as_raw_fd(), 0)?,
    }
    for number in without {
        files.add_close(*number)?;
    }
    start(image, &files, 0)
}

/// The descriptors of this process besides the usual three: those that it was given, by whoever
/// started it, also.
pub(super) fn descriptors() -> io::Result<Vec<i32>> {
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let mut numbers = Vec::new();
    for entry in entries {
        let number = entry?.file_name().to_string_lossy().parse::<i32>();
        numbers.extend(number.ok().filter(|number| *number > 2));
    }
    Ok(numbers)
}

/// Starts this program once more, with all that it has but its environment.
pub(super) fn again(argv: &[&str]) -> io::Result<Pid> {
    let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
    let image = Image {
        program: Path::new(SELF),
        argv: &argv,
        env: &[],
        cwd: Path::new("/"),
    };
    start(image, &PosixSpawnFileActions::init()?, 0)
}

/// A text as something that a process can read from its beginning.
pub(super) fn readable(text: &str) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("wf-input", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

fn nothing() -> io::Result<BorrowedFd<'static>> {
    if let Some(open) = NOTHING.get() {
        return Ok(open.as_fd());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let opened = rustix::fs::open("/dev/null", flags, Mode::empty())?;
    Ok(NOTHING.get_or_init(|| opened).as_fd())
}

/// The time since the boot, as the system tells when processes began.
fn ticks() -> Option<u64> {
    let now = rustix::time::clock_gettime(ClockId::Boottime);
    let nanos = u64::try_from(now.tv_nsec).ok()?;
    let second = rustix::param::clock_ticks_per_second();
    let seconds = u64::try_from(now.tv_sec).ok()?;
    Some(seconds * second + nanos / 1_000_000_000_u64.checked_div(second)?)
}

/// Starts a process. The working directory is changed for as long as that takes, because the
/// system's call has no word for it that every C library knows.
fn start(image: Image<'_>, files: &PosixSpawnFileActions, flags: i32) -> io::Result<Pid> {
    let program = CString::new(image.program.as_os_str().as_bytes())?;
    let argv = strings(image.argv)?;
    let env = strings(image.env)?;
    let attributes = attributes(flags)?;
    let started = inside(image.cwd, || {
        Ok(posix_spawn(
            program.as_c_str(),
            files,
            &attributes,
            &argv,
            &env,
        )?)
    })?;
    Ok(Pid::from_raw(started.as_raw()).ok_or(io::ErrorKind::Other)?)
}

/// Signals as a program expects them.
fn attributes(flags: i32) -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    let restored = RESTORED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status");
        restored(&status.unwrap_or_default())
    });
    attributes.set_sigdefault(restored)?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::from_bits_retain(flags),
    )?;
    Ok(attributes)
}

/// The signals that are set back to what they do by themselves, by the status of this process: all
/// but those that whoever started it let it ignore. The C library does that to each anyway, and
/// needs two calls for one that it has to ask about first. Rust ignores broken pipes.
fn restored(status: &str) -> SigSet {
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Those for real time have no names here, and are not looked at one by one.
    let mut restored = match ignored {
        Some(ignored) if ignored >> OF_THE_SYSTEM == 0 => SigSet::all(),
        _ => SigSet::empty(),
    };
    for signal in Signal::iterator() {
        let bit = (signal as i32 - 1).unsigned_abs();
        if ignored.is_some_and(|ignored| ignored >> bit & 1 == 0) {
            restored.add(signal);
        } else {
            restored.remove(signal);
        }
    }
    restored.add(Signal::SIGPIPE);
    restored
}

/// Does something in a folder.
fn inside<T>(folder: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut own = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    let own = match &mut *own {
        Some(own) => own,
        none => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            none.insert(rustix::fs::open(".", flags, Mode::empty())?)
        }
    };
    rustix::process::chdir(folder)?;
    let done = work();
    rustix::process::fchdir(own)?;
    done
}

fn strings(texts: &[String]) -> io::Result<Vec<CString>> {
    let strings = texts.iter().map(|text| CString::new(text.as_bytes()));
    Ok(strings.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::Signal;

    use super::restored;

    #[test]
    fn what_was_ignored_stays_ignored_but_broken_pipes() {
        let restored = |mask| restored(&format!("SigBlk:\t0\nSigIgn:\t{mask}\nSigCgt:\t0\n"));
        // `nohup`, and broken pipes.
        let set = restored("0000000180001001");
        assert!(!set.contains(Signal::SIGHUP));
        assert!(set.contains(Signal::SIGPIPE) && set.contains(Signal::SIGINT));
        // `SIGINT`, and one for real time.
        let set = restored("0000000200000002");
        assert!(!set.contains(Signal::SIGINT) && set.contains(Signal::SIGPIPE));
        assert!(set.contains(Signal::SIGTERM));
    }

    #[test]
    fn without_an_answer_only_broken_pipes_are_set_back() {
        let set = restored("");
        assert!(set.contains(Signal::SIGPIPE) && !set.contains(Signal::SIGINT));
    }
}
