//! One attempt of a step that is a process.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::process::{self, Command};
use super::secret::{Hidden, exposed};
use super::supervise::{Limits, supervise};
use super::{Ends, OnOutput, Stop, Unable, log, outputs, sandbox, usage};
use crate::machine::{Exit, Usage};
use crate::mask::Mask;
use crate::time::Clock;

/// What an attempt executes, and within which limits.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// The process.
    pub command: Command,
    /// The longest it may take.
    pub timeout: Option<Duration>,
    /// The time between asking it to end and killing it.
    pub grace: Duration,
    /// The file where its output is kept. Its folder exists.
    pub log: PathBuf,
    /// How much of it is kept, in bytes.
    pub limit: u64,
    /// How much it may print before it is killed, in bytes; `None`: as much as it likes.
    pub most: Option<u64>,
    /// The file that `WF_OUTPUT` names. Its folder exists; the file is removed after reading.
    pub output: PathBuf,
    /// What must not be kept or shown.
    #[serde(with = "exposed")]
    pub secrets: Vec<Hidden>,
}

/// What a process is tied to while it runs.
pub struct Ties {
    /// What all that it starts bears in its environment.
    pub mark: String,
    /// What hides the job's secrets.
    pub mask: Mask,
    /// For the times in its log.
    pub clock: Arc<dyn Clock>,
    /// Whether it is told to end.
    pub stop: watch::Receiver<Stop>,
    /// Who is shown its output.
    pub on_output: Option<OnOutput>,
    /// Is told its process and when that began, once it was started.
    pub on_start: Option<OnStart>,
}

/// Is told a process and when it began, in ticks since the boot.
pub type OnStart = Box<dyn FnOnce(i32, u64) + Send>;

/// How the work of an attempt ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gone {
    /// How.
    pub exit: Exit,
    /// What it wrote to its output file; empty unless it succeeded. Contains no secret.
    pub output: String,
    /// How many bytes of what it printed are kept.
    pub logged: u64,
    /// The end of what it printed, masked; empty if it succeeded.
    #[serde(default, skip_serializing_if = "Ends::is_empty")]
    pub ends: Ends,
    /// What it said it used up, if it did not succeed; else its output file says it.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    /// Whether something that it started lives on, until the run ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub service: bool,
}

impl Job {
    /// What hides the job's secrets; made anew, which takes a while where there are many.
    pub(super) fn mask(&self) -> Mask {
        Mask::new(self.secrets.iter().map(Hidden::expose))
    }
}

impl Gone {
    /// Whether it ended well and there is nothing else to be seen of it.
    pub fn is_plainly_well(&self) -> bool {
        self.exit == Exit::Code { code: 0 } && self.output.is_empty() && !self.service
    }

    /// Work that could not begin, or of which nobody knows how it ended.
    pub fn without(exit: impl Into<Exit>) -> Self {
        Self {
            exit: exit.into(),
            output: String::new(),
            logged: 0,
            ends: Ends::default(),
            usage: Usage::default(),
            service: false,
        }
    }
}

/// Runs a process to its end, or ends it.
pub async fn run(job: Job, ties: Ties) -> Gone {
    prepare_output(&job);
    sandbox::prepare(&job.command).await;
    let mask = ties.mask;
    let target = log::Target {
        path: job.log,
        limit: job.limit,
        mask: mask.clone(),
        clock: ties.clock,
    };
    let mut writer = log::Writer::new(target, ties.on_output);
    let limits = Limits {
        timeout: job.timeout,
        grace: job.grace,
        output: job.most,
    };
    let (exit, service) = if *ties.stop.borrow() == Stop::No {
        match process::spawn(&job.command, &ties.mark) {
            Ok(process) => {
                if let Some(tell) = ties.on_start {
                    tell(process.id(), process.start());
                }
                let end = supervise(process, limits, ties.stop, &mut writer).await;
                (end.exit, end.service)
            }
            Err(unable) => (unable.into(), false),
        }
    } else {
        (Exit::Cancelled, false)
    };
    // What failed has used something up all the same.
    let bytes = read_bounded(&job.output);
    let used = bytes.as_deref().map(used).unwrap_or_default();
    let output = if exit.is_success() {
        read_output(bytes, &mask)
    } else {
        let _ = std::fs::remove_file(&job.output);
        Ok(String::new())
    };
    let (exit, output, written) = conclude(exit, output, writer, &mask);
    Gone {
        ends: if exit.is_success() {
            Ends::default()
        } else {
            written.ends
        },
        usage: if exit.is_success() {
            Usage::default()
        } else {
            used
        },
        exit,
        output,
        logged: written.logged.unwrap_or(0),
        service,
    }
}

/// Makes the file that the work writes its outputs to be its own.
fn prepare_output(job: &Job) {
    // What an attempt left here that was interrupted is not this one's.
    if job.output.symlink_metadata().is_ok() {
        let _ = std::fs::remove_file(&job.output);
    }
    if job.command.sandbox.is_some() {
        // In a sandbox a file can only be shown if it is there.
        let _ = File::create_new(&job.output);
    }
}

/// Ends the log and puts together how the work ended: how, what it gave and what is kept of what
/// it printed. A reason may quote what the world said, so it is masked.
pub(super) fn conclude<T: Default>(
    exit: Exit,
    given: Result<T, Unable>,
    writer: log::Writer,
    mask: &Mask,
) -> (Exit, T, log::Written) {
    let written = writer.finish();
    let (exit, given) = match (exit, given, &written.logged) {
        (exit, _, _) if !exit.is_success() => (exit, T::default()),
        (_, Err(unable), _) => (unable.into(), T::default()),
        (_, _, Err(unable)) => (unable.clone().into(), T::default()),
        (exit, Ok(given), Ok(_)) => (exit, given),
    };
    let exit = match exit {
        Exit::Unable { why, class } => Exit::Unable {
            why: mask.text(&why).into_owned(),
            class,
        },
        exit => exit,
    };
    (exit, given, written)
}

/// What an attempt said it used up that nobody saw the end of, by the file that it left behind.
pub fn left_behind(output: &Path) -> Usage {
    read_bounded(output)
        .as_deref()
        .map(used)
        .unwrap_or_default()
}

/// What the bytes of an output file say was used up, as far as they can be read.
fn used(bytes: &[u8]) -> Usage {
    let limit = usize::try_from(outputs::LIMIT).unwrap_or(usize::MAX);
    let text = String::from_utf8_lossy(bytes.get(..limit).unwrap_or(bytes));
    usage::read(&text, &[]).0
}

/// Reads an output file; none is the same as an empty one.
fn read_output(bytes: io::Result<Vec<u8>>, mask: &Mask) -> Result<String, Unable> {
    let bytes = bytes
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
    Ok(text)
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
