//! One attempt of a step running a process.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use wf_base::{redact::SecretMask, time::Clock, units::plural};
use wf_core::machine::{AttemptUsage, LeftProcesses, WorkExit};

use crate::{
    OnOutput,
    disk::files,
    log,
    processes::{
        memory_room,
        probe::{self, ProbeJob},
        process::{self, ProcessCommand},
        supervise::{OutputSink as _, ProcessLimits, supervise},
        tails::StreamTails,
        tree::{self, LivingProcess},
    },
    sandbox,
    secrets::secret::Redactions,
    step_files::{output_entry::without_masks, outputs, usage},
    work_error::{StopLevel, WorkError},
};

/// The wait for memory from which on the log tells of it.
const NOTED_WAIT: Duration = Duration::from_secs(1);

/// The work of an attempt and its limits.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProcessJob {
    pub command: ProcessCommand,
    /// The maximum run time.
    pub timeout: Option<Duration>,
    /// The grace period between the request to terminate and the kill.
    pub grace: Duration,
    /// The log file for the output. Its folder exists.
    pub log: PathBuf,
    /// The maximum number of log bytes kept.
    pub limit: u64,
    /// The output size in bytes at which the process is killed; `None`: unlimited.
    pub most: Option<u64>,
    /// The file of `WF_OUTPUT`. Its folder exists; the file is removed after reading.
    pub output: PathBuf,
    /// The removal of what the process may leave outside of the tree of processes, a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<ProbeJob>,
    /// The secrets that must not be stored or shown.
    pub redactions: Redactions,
    /// True if processes it leaves running outlive the run.
    #[serde(default)]
    pub detach: bool,
}

/// The connections of a running process to its surroundings.
pub struct ProcessHooks {
    /// The mark in the environment of the process and all its descendants.
    pub mark: String,
    /// The mask for the job's secrets.
    pub mask: SecretMask,
    /// The clock for the timestamps in the log.
    pub clock: Arc<dyn Clock>,
    /// The stop request, if any.
    pub stop: watch::Receiver<StopLevel>,
    /// Receives the output.
    pub on_output: Option<OnOutput>,
    /// Called with the process id and its start time once it has started.
    pub on_start: Option<OnStart>,
}

/// Receives a process id and its start time in clock ticks since boot.
pub type OnStart = Box<dyn FnOnce(i32, u64) + Send>;

/// The outcome of an attempt's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessOutcome {
    pub exit: WorkExit,
    /// The content of the output file; empty unless the work succeeded. Contains no secret.
    pub output: String,
    /// The number of output bytes kept in the log.
    pub logged: u64,
    /// The tail of the output, masked; empty on success.
    #[serde(rename = "ends", default, skip_serializing_if = "StreamTails::is_empty")]
    pub tails: StreamTails,
    /// The reported usage if the work failed; on success it is in `output`.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
    /// The descendants that keep running, until the run ends or longer.
    #[serde(default, flatten)]
    pub left: LeftProcesses,
}

impl ProcessJob {
    /// Builds the mask for the job's secrets; slow where there are many.
    pub(crate) fn mask(&self) -> SecretMask {
        self.redactions.mask()
    }
}

impl ProcessOutcome {
    /// Work that could not start, or whose outcome is unknown.
    pub fn without(exit: impl Into<WorkExit>) -> Self {
        Self {
            exit: exit.into(),
            output: String::new(),
            logged: 0,
            tails: StreamTails::default(),
            usage: AttemptUsage::default(),
            left: LeftProcesses::default(),
        }
    }
}

/// Runs a process until it exits or is terminated.
pub async fn run(job: ProcessJob, hooks: ProcessHooks) -> ProcessOutcome {
    prepare_output(&job);
    let room = memory_room::wait_for_room(&hooks.stop).await;
    let prepared = sandbox::prepare(&job.command).await;
    let mask = hooks.mask;
    let target = log::LogTarget { path: job.log, limit: job.limit, mask: mask.clone(), clock: hooks.clock };
    let mut writer = log::LogWriter::new(target, hooks.on_output).with_masks_of(job.output.clone());
    if room.waited >= NOTED_WAIT {
        let note = format!("… started {} s later: memory was short …\n", room.waited.as_secs());
        writer.on_bytes(log::LogStream::Note, note.as_bytes());
    }
    let limits =
        ProcessLimits { timeout: job.timeout, grace: job.grace, output: job.most, leaves_none: false };
    let cleanup = job.cleanup;
    let (exit, mut left) = if *hooks.stop.borrow() == StopLevel::No {
        match prepared.and_then(|prepared| process::spawn(&job.command, &hooks.mark, prepared)) {
            Ok(process) => {
                if let Some(tell) = hooks.on_start {
                    tell(process.id(), process.start());
                }
                let end = supervise(process, limits, hooks.stop, &mut writer).await;
                (end.exit, end.left_processes)
            }
            Err(unable) => (unable.into(), Vec::new()),
        }
    } else {
        (WorkExit::Cancelled, Vec::new())
    };
    if let Some(cleanup) = cleanup {
        // Once that is gone, nothing of it serves later steps.
        left.clear();
        let cleaned = probe::run(cleanup, &hooks.mark, StopLevel::never()).await;
        if !matches!(cleaned.exit, WorkExit::Code { .. }) {
            let note = "… the container of the step could not be removed …\n";
            writer.on_bytes(log::LogStream::Note, note.as_bytes());
        }
    }
    let runtime_mask = writer.runtime_mask();
    let left = left_processes(&left, job.detach, &[&mask, &runtime_mask], &mut writer);
    // Failed work reports its usage, too.
    let bytes = take_file(&job.output);
    let used = bytes.as_deref().map(usage_of).unwrap_or_default();
    let output = if exit.is_success() {
        read_output(bytes, &mask).and_then(|text| without_secrets(text, &runtime_mask))
    } else {
        let _ = std::fs::remove_file(&job.output);
        Ok(String::new())
    };
    let (exit, output, written) = conclude(exit, output, writer, &mask);
    ProcessOutcome {
        tails: if exit.is_success() { StreamTails::default() } else { written.tails },
        usage: if exit.is_success() { AttemptUsage::default() } else { used },
        exit,
        output,
        logged: written.logged.unwrap_or(0),
        left,
    }
}

/// Describes the processes that work left running, also in its log, and sets those apart that outlive the run.
fn left_processes(
    members: &[LivingProcess],
    detach: bool,
    masks: &[&SecretMask],
    writer: &mut log::LogWriter,
) -> LeftProcesses {
    let left = LeftProcesses {
        service: !members.is_empty(),
        left: members.iter().map(|process| process.describe(masks)).collect(),
        boot_id: if members.is_empty() { String::new() } else { tree::boot_id() },
        detached: detach && !members.is_empty(),
    };
    if left.detached {
        tree::detach(members);
    }
    if left.service {
        let until = if left.detached { "for longer than the run" } else { "until the run ends" };
        let count = plural(left.left.len(), "process");
        let note = format!("… left {count} running {until}: {} …\n", left.commands());
        writer.on_bytes(log::LogStream::Note, note.as_bytes());
    }
    left
}

/// Prepares the file for the work's outputs.
fn prepare_output(job: &ProcessJob) {
    // A sandbox and a container can only show a file that exists.
    let is_shown = job.command.sandbox.is_some() || job.cleanup.is_some();
    begin_output(&job.output, is_shown);
}

/// Removes what an interrupted attempt left in the place of an output file, and creates it if that is needed.
pub fn begin_output(path: &Path, create: bool) {
    if path.symlink_metadata().is_ok() {
        let _ = std::fs::remove_file(path);
    }
    if create {
        let _ = File::create_new(path);
    }
}

/// Reads an output file and removes it.
pub fn take_output(path: &Path, mask: &SecretMask) -> Result<String, WorkError> {
    read_output(take_file(path), mask)
}

/// Closes the log and assembles the exit, the result and the log summary. A reason may quote
/// external text, so it is masked.
pub(crate) fn conclude<T: Default>(
    exit: WorkExit,
    outputs: Result<T, WorkError>,
    writer: log::LogWriter,
    mask: &SecretMask,
) -> (WorkExit, T, log::LogSummary) {
    let written = writer.finish();
    let (exit, outputs) = match (exit, outputs, &written.logged) {
        (exit, _, _) if !exit.is_success() => (exit, T::default()),
        (_, Err(unable), _) => (unable.into(), T::default()),
        (_, _, Err(unable)) => (unable.clone().into(), T::default()),
        (exit, Ok(outputs), Ok(_)) => (exit, outputs),
    };
    let exit = match exit {
        WorkExit::Error { reason, failure_class } => {
            WorkExit::Error { reason: mask.text(&reason).into_owned(), failure_class }
        }
        exit => exit,
    };
    (exit, outputs, written)
}

/// Returns the usage reported in the output file of an attempt that was never seen to end.
pub fn recovered_usage(output: &Path) -> AttemptUsage {
    take_file(output).as_deref().map(usage_of).unwrap_or_default()
}

/// Returns the usage in the bytes of an output file, as far as they can be read.
fn usage_of(bytes: &[u8]) -> AttemptUsage {
    let limit = usize::try_from(outputs::MAX_OUTPUT_FILE_BYTES).unwrap_or(usize::MAX);
    let text = String::from_utf8_lossy(bytes.get(..limit).unwrap_or(bytes));
    usage::parse_usage(&text, &[]).0
}

/// Reads an output file; a missing one counts as empty.
fn read_output(bytes: io::Result<Vec<u8>>, mask: &SecretMask) -> Result<String, WorkError> {
    let bytes =
        bytes.map_err(|error| WorkError::environmental(format!("cannot read the output file: {error}")))?;
    if bytes.len() as u64 > outputs::MAX_OUTPUT_FILE_BYTES {
        let limit = outputs::MAX_OUTPUT_FILE_BYTES / 1024;
        return Err(WorkError::logical(format!("the output file is larger than {limit} KiB")));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| WorkError::logical("the output file is not UTF-8 text"))?;
    without_secrets(without_masks(&text), mask)
}

/// Refuses outputs with a secret in them.
fn without_secrets(text: String, mask: &SecretMask) -> Result<String, WorkError> {
    if mask.text(&text) != text {
        return Err(WorkError::logical(
            "the output file contains a secret, but outputs are recorded and shown; pass secrets \
             on in a file",
        ));
    }
    Ok(text)
}

/// Reads a file, up to one byte past the limit, and removes it.
fn take_file(path: &Path) -> io::Result<Vec<u8>> {
    let opened = files::open_regular(path, OFlags::RDONLY);
    let _ = std::fs::remove_file(path);
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        opened => files::read_bounded(opened?, outputs::MAX_OUTPUT_FILE_BYTES + 1),
    }
}

#[cfg(test)]
mod tests;
