//! One attempt of a step that is a process.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::watch;

use super::process::{self, Command};
use super::supervise::{Limits, supervise};
use super::{OnOutput, Stop, Unable, log, outputs};
use crate::machine::Exit;
use crate::mask::Mask;
use crate::model::{Object, Output};

/// What an attempt executes, and within which limits.
#[derive(Debug)]
pub struct Job {
    /// The process.
    pub command: Command,
    /// The longest it may take.
    pub timeout: Option<Duration>,
    /// The time between asking it to end and killing it.
    pub grace: Duration,
    /// Where its output is kept.
    pub log: log::Target,
    /// The file that `WF_OUTPUT` names. Its folder exists; the file is removed after reading.
    pub output: PathBuf,
    /// The values that the file must give.
    pub outputs: Vec<Output>,
}

/// How a piece of work ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// How.
    pub exit: Exit,
    /// The values it gave, checked; empty unless it succeeded.
    pub outputs: Object,
    /// How many bytes of output are kept.
    pub logged: u64,
}

/// Runs a process to its end, or ends it.
pub async fn run(job: Job, stop: watch::Receiver<Stop>, on_output: Option<OnOutput>) -> Finished {
    let mask = job.log.mask.clone();
    let mut writer = log::Writer::new(job.log, on_output);
    let limits = Limits {
        timeout: job.timeout,
        grace: job.grace,
    };
    // What an attempt left here that was interrupted is not this one's.
    let _ = std::fs::remove_file(&job.output);
    let exit = if *stop.borrow() == Stop::No {
        match process::spawn(&job.command) {
            Ok(process) => supervise(process, limits, stop, &mut writer).await,
            Err(unable) => unable.into(),
        }
    } else {
        Exit::Cancelled
    };
    let given = if exit.is_success() {
        read_outputs(&job.output, &job.outputs, &mask)
    } else {
        let _ = std::fs::remove_file(&job.output);
        Ok(Object::new())
    };
    conclude(exit, given, writer, &mask)
}

/// Ends the log and puts together how the work ended. A reason may quote what the world said, so
/// it is masked.
pub(super) fn conclude(
    exit: Exit,
    outputs: Result<Object, Unable>,
    writer: log::Writer,
    mask: &Mask,
) -> Finished {
    let written = writer.finish();
    let logged = *written.as_ref().unwrap_or(&0);
    let (exit, outputs) = match (exit, outputs, written) {
        (exit, _, _) if !exit.is_success() => (exit, Object::new()),
        (_, Err(unable), _) | (_, _, Err(unable)) => (unable.into(), Object::new()),
        (exit, Ok(outputs), Ok(_)) => (exit, outputs),
    };
    let exit = match exit {
        Exit::Unable { why, class } => Exit::Unable {
            why: mask.text(&why).into_owned(),
            class,
        },
        exit => exit,
    };
    Finished {
        exit,
        outputs,
        logged,
    }
}

/// Reads and checks an output file; none is the same as an empty one.
fn read_outputs(path: &Path, declared: &[Output], mask: &Mask) -> Result<Object, Unable> {
    let bytes = read_bounded(path)
        .map_err(|error| Unable::environmental(format!("cannot read the output file: {error}")))?;
    if bytes.len() as u64 > outputs::LIMIT {
        let limit = outputs::LIMIT / 1024;
        return Err(Unable::logical(format!(
            "the output file is larger than {limit} KiB"
        )));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Unable::logical("the output file is not UTF-8 text"))?;
    if mask.text(&text) != text {
        return Err(Unable::logical(
            "the output file contains a secret; outputs are recorded and shown, so pass a secret on in a file",
        ));
    }
    outputs::parse(&text, declared).map_err(|problems| Unable::logical(problems.join("; ")))
}

/// A file's bytes, at most one more than the limit; the file is removed.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    // Without waiting: a step may have left a pipe there.
    let opened = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let _ = std::fs::remove_file(path);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(outputs::LIMIT + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod shell_tests;
#[cfg(test)]
mod tests;
