//! The system calls starting a process.

use std::{
    ffi::CString,
    io::{self, Seek as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
    sync::{Mutex, OnceLock},
};

use nix::{
    spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn},
    sys::signal::{SigSet, Signal},
};
use rustix::{
    fs::{MemfdFlags, Mode, OFlags},
    pipe::PipeFlags,
    process::Pid,
    time::ClockId,
};

/// `POSIX_SPAWN_SETSID`, which `nix` does not define: the same in every C library of Linux.
const SETSID: i32 = 0x80;

/// The path of this program, even if its file was replaced since the start.
pub(crate) const OWN_PROGRAM: &str = "/proc/self/exe";

/// The lowest number for copies of passed descriptors, above all numbers they are passed under.
const FIRST_PASSED_FD: i32 = 16;

/// The working directory of this process, once it was left. Locked while it is that of a process
/// being started.
static FOLDER: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// `/dev/null`, once opened.
static DEV_NULL: OnceLock<OwnedFd> = OnceLock::new();

/// The number of signals of the system and of the C library, which ignores its own two; real-time
/// signals follow.
const SYSTEM_SIGNAL_COUNT: u32 = 33;

/// The signals that are reset to their defaults in started processes.
static SIGNALS_TO_RESET: OnceLock<SigSet> = OnceLock::new();

/// The program to start and its surroundings.
#[derive(Clone, Copy)]
pub(crate) struct ProcessImage<'a> {
    /// The file of the program.
    pub(crate) program: &'a Path,
    /// The arguments, the name of the program first.
    pub(crate) argv: &'a [String],
    /// The whole environment, `NAME=value`.
    pub(crate) env: &'a [String],
    /// The working directory.
    pub(crate) cwd: &'a Path,
}

/// A started process, and the reading ends of its outputs.
pub(crate) struct SpawnedProcess {
    pub(crate) pid: Pid,
    pub(super) out: OwnedFd,
    pub(super) err: OwnedFd,
    /// The writing ends. While another holder keeps them open, the end of the process is reported
    /// only once: by its exit, and not by each of its outputs before that.
    pub(super) written: [OwnedFd; 2],
    /// The start time in clock ticks since boot, if known.
    pub(super) start: Option<u64>,
}

/// Starts a process in a session of its own, both outputs piped. It gets the given descriptors
/// under their numbers; without one for standard input, that is empty.
pub(crate) fn spawn(
    image: ProcessImage<'_>,
    descriptors: &[(BorrowedFd<'_>, i32)],
) -> io::Result<SpawnedProcess> {
    let (out, out_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (err, err_end) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let nothing = nothing()?;
    let mut files = PosixSpawnFileActions::init()?;
    let usual = [(nothing, 0), (out_end.as_fd(), 1), (err_end.as_fd(), 2)];
    // None of them may have a number that another one is to get.
    let high = descriptors.iter().map(|(end, number)| {
        let end = rustix::io::fcntl_dupfd_cloexec(end, FIRST_PASSED_FD)?;
        io::Result::Ok((end, *number))
    });
    let high: Vec<_> = high.collect::<io::Result<_>>()?;
    let descriptors = high.iter().map(|(end, number)| (end.as_fd(), *number));
    for (end, number) in usual.into_iter().chain(descriptors) {
        files.add_dup2(end.as_raw_fd(), number)?;
    }
    let before = ticks();
    let pid = start(image, &files, SETSID)?;
    // The start was between both readings, which mostly agree.
    let start = before.filter(|before| ticks() == Some(*before));
    let written = [out_end, err_end];
    Ok(SpawnedProcess { pid, out, err, written, start })
}

/// Starts a process sharing the outputs of this one, with the given or an empty input, and without the listed
/// descriptors.
pub(crate) fn beside(image: ProcessImage<'_>, input: Option<&OwnedFd>, without: &[i32]) -> io::Result<Pid> {
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

/// Returns the descriptors of this process besides the three standard ones, including those
/// inherited from the caller.
pub(crate) fn descriptors() -> io::Result<Vec<i32>> {
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let mut numbers = Vec::new();
    for entry in entries {
        let number = entry?.file_name().to_string_lossy().parse::<i32>();
        numbers.extend(number.ok().filter(|number| *number > 2));
    }
    Ok(numbers)
}

/// Starts this program again, with the same descriptors but an empty environment.
pub(crate) fn spawn_self(argv: &[&str]) -> io::Result<Pid> {
    let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
    let image = ProcessImage { program: Path::new(OWN_PROGRAM), argv: &argv, env: &[], cwd: Path::new("/") };
    start(image, &PosixSpawnFileActions::init()?, 0)
}

/// Writes bytes to a descriptor a process can read from its start.
pub(crate) fn readable(bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("wf-input", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

fn nothing() -> io::Result<BorrowedFd<'static>> {
    if let Some(open) = DEV_NULL.get() {
        return Ok(open.as_fd());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let opened = rustix::fs::open("/dev/null", flags, Mode::empty())?;
    Ok(DEV_NULL.get_or_init(|| opened).as_fd())
}

/// Returns the time since boot in the unit of process start times.
fn ticks() -> Option<u64> {
    let now = rustix::time::clock_gettime(ClockId::Boottime);
    let nanos = u64::try_from(now.tv_nsec).ok()?;
    let second = rustix::param::clock_ticks_per_second();
    let seconds = u64::try_from(now.tv_sec).ok()?;
    Some(seconds * second + nanos / 1_000_000_000_u64.checked_div(second)?)
}

/// Starts a process. The working directory is changed meanwhile, because the system call has no
/// option for it that every C library supports.
fn start(image: ProcessImage<'_>, files: &PosixSpawnFileActions, flags: i32) -> io::Result<Pid> {
    let program = CString::new(image.program.as_os_str().as_bytes())?;
    let argv = strings(image.argv)?;
    let env = strings(image.env)?;
    let attributes = attributes(flags)?;
    let started =
        inside(image.cwd, || Ok(posix_spawn(program.as_c_str(), files, &attributes, &argv, &env)?))?;
    Ok(Pid::from_raw(started.as_raw()).ok_or(io::ErrorKind::Other)?)
}

/// Returns the attributes that reset signals as programs expect them.
fn attributes(flags: i32) -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    let restored = SIGNALS_TO_RESET.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status");
        signals_to_reset(&status.unwrap_or_default())
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

/// Returns the signals to reset to their defaults, derived from the status of this process: all but those its caller
/// made it ignore. The C library resets each anyway, and needs two calls for a signal it has to query first. Rust
/// ignores broken pipes.
fn signals_to_reset(status: &str) -> SigSet {
    let mut lines = status.lines();
    let ignored = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Real-time signals have no names here, and are not inspected one by one.
    let mut restored = match ignored {
        Some(ignored) if ignored >> SYSTEM_SIGNAL_COUNT == 0 => SigSet::all(),
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

/// Runs a function in a folder.
fn inside<T>(folder: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut own = crate::runtime::lock_mutex(&FOLDER);
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

    use super::signals_to_reset;

    #[test]
    fn what_was_ignored_stays_ignored_but_broken_pipes() {
        let restored = |mask| signals_to_reset(&format!("SigBlk:\t0\nSigIgn:\t{mask}\nSigCgt:\t0\n"));
        // `nohup`, and broken pipes.
        let set = restored("0000000180001001");
        assert!(!set.contains(Signal::SIGHUP));
        assert!(set.contains(Signal::SIGPIPE) && set.contains(Signal::SIGINT));
        // `SIGINT`, and a real-time signal.
        let set = restored("0000000200000002");
        assert!(!set.contains(Signal::SIGINT) && set.contains(Signal::SIGPIPE));
        assert!(set.contains(Signal::SIGTERM));
    }

    #[test]
    fn without_an_answer_only_broken_pipes_are_set_back() {
        let set = signals_to_reset("");
        assert!(set.contains(Signal::SIGPIPE) && !set.contains(Signal::SIGINT));
    }
}
