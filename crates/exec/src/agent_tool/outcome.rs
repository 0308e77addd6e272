//! The execution of one tool call: its place, its process, and the outcome for the model.

use std::{path::PathBuf, time::Duration};

use tokio::{sync::watch, time::Instant};

use wf_base::redact::SecretMask;
use wf_core::{
    agent::{ToolRequest, cut_ends, cut_result},
    machine::WorkExit,
};

use super::{
    answer::{FileToolAnswer, FileToolOrder},
    stage,
};
use crate::{
    processes::{
        probe::{ProbeJob, ProbeOutcome, ProbeRole},
        process::ProcessCommand,
    },
    sandbox::WorkspaceLayer,
    work::executor::ProcessExecutor,
    work_error::StopLevel,
};

/// The default timeout of a script.
const SCRIPT_TIMEOUT: Duration = Duration::from_mins(2);

/// The timeout of a request about files. A search ends itself before.
const FILE_TIMEOUT: Duration = Duration::from_mins(1);

/// The bytes kept of each end of a script's output: more than a result has, so that masking may shorten it.
const KEPT_OUTPUT_BYTES: usize = 128 * 1024;

/// The bytes kept of an answer about files. It is bounded in itself, but JSON escapes make it longer.
const KEPT_ANSWER_BYTES: usize = 16 << 20;

/// The default limit on a script's output, in bytes.
const OUTPUT_LIMIT: u64 = 1 << 30;

/// The script running another with both outputs in one stream, in the order of their writes.
const BOTH_OUTPUTS: &str = "exec sh -c \"$1\" 2>&1";

/// The surroundings of an agent's tools: those of its step.
#[derive(Clone, Debug)]
pub struct ToolEnvironment {
    /// The process of the step, with its environment, folder and sandbox. Only [`run_program`] uses its arguments.
    pub command: ProcessCommand,
    /// The root of the workspace; absolute. Paths of files are relative to it.
    pub root: PathBuf,
    /// The mask for the secrets of the run.
    pub mask: SecretMask,
    /// The time left of the attempt; `None`: unlimited.
    pub time_left: Option<Duration>,
    /// The grace period between the request to terminate a script and the kill.
    pub grace: Duration,
    /// The output size in bytes at which a script is killed; `None`: a default.
    pub output_limit: Option<u64>,
    /// The files and folders whose text is not trusted, relative to the root.
    pub untrusted: Vec<String>,
}

/// The outcome of a call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The text for the model, masked and cut.
    pub text: String,
    /// True if the call failed.
    pub is_error: bool,
    /// True if the text may come from files that are not trusted, or from the network.
    pub is_untrusted: bool,
    pub duration_ms: u64,
}

/// Carries out a request of an agent. Nothing it started lives on, not even if the future is dropped.
pub async fn run_tool(
    executor: &ProcessExecutor,
    environment: &ToolEnvironment,
    request: &ToolRequest,
    stop: watch::Receiver<StopLevel>,
) -> ToolOutcome {
    let began = Instant::now();
    let answer = match request {
        _ if environment.time_left.is_some_and(|left| left.is_zero()) => {
            FileToolAnswer::failed("no time of the attempt is left".to_owned())
        }
        ToolRequest::Run { script, timeout_seconds } => {
            let timeout = timeout_seconds.map_or(SCRIPT_TIMEOUT, Duration::from_secs);
            let timeout = environment.within(timeout);
            let argv = ["sh", "-c", BOTH_OUTPUTS, "sh", script].map(str::to_owned).into();
            let command = ProcessCommand { argv, input: None, ..environment.command.clone() };
            let job = environment.script_job(command, timeout);
            environment.script_answer(&executor.probe(job, stop).await, timeout)
        }
        request => {
            let job = environment.file_job(request);
            environment.file_answer(&executor.probe(job, stop).await)
        }
    };
    ToolOutcome::of(answer, began)
}

/// Runs the command of the environment as a script: one that is no text of a model. `timeout` is the script's.
pub async fn run_program(
    executor: &ProcessExecutor,
    environment: &ToolEnvironment,
    timeout: Option<Duration>,
    stop: watch::Receiver<StopLevel>,
) -> ToolOutcome {
    let began = Instant::now();
    if environment.time_left.is_some_and(|left| left.is_zero()) {
        return ToolOutcome::of(FileToolAnswer::failed("no time of the attempt is left".to_owned()), began);
    }
    let timeout = environment.within(timeout.unwrap_or(SCRIPT_TIMEOUT));
    let job = environment.script_job(environment.command.clone(), timeout);
    ToolOutcome::of(environment.script_answer(&executor.probe(job, stop).await, timeout), began)
}

impl ToolOutcome {
    fn of(answer: FileToolAnswer, began: Instant) -> Self {
        Self {
            text: answer.text,
            is_error: answer.is_error,
            is_untrusted: answer.is_untrusted,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl ToolEnvironment {
    fn within(&self, timeout: Duration) -> Duration {
        self.time_left.map_or(timeout, |left| left.min(timeout))
    }

    fn script_job(&self, command: ProcessCommand, timeout: Duration) -> ProbeJob {
        ProbeJob {
            command,
            timeout,
            grace: self.grace,
            keep: KEPT_OUTPUT_BYTES,
            output: Some(self.output_limit.unwrap_or(OUTPUT_LIMIT)),
            role: ProbeRole::Tool,
        }
    }

    fn file_job(&self, request: &ToolRequest) -> ProbeJob {
        let writable = self.command.sandbox.as_ref().map(|sandbox| match &sandbox.layer {
            WorkspaceLayer::Direct { write, .. } => write.clone(),
            WorkspaceLayer::Scratch { .. } => vec![".".to_owned()],
        });
        let order = FileToolOrder { request: request.clone(), writable, untrusted: self.untrusted.clone() };
        let command = ProcessCommand {
            argv: stage::command_line(),
            // It needs no variable, and so no secret.
            env: Vec::new(),
            cwd: self.root.clone(),
            sandbox: self.command.sandbox.clone(),
            pins: None,
            input: serde_json::to_string(&order).ok(),
        };
        ProbeJob {
            command,
            timeout: self.within(FILE_TIMEOUT),
            grace: Duration::ZERO,
            keep: KEPT_ANSWER_BYTES,
            output: None,
            role: ProbeRole::Tool,
        }
    }

    fn file_answer(&self, probed: &ProbeOutcome) -> FileToolAnswer {
        let answer = match &probed.exit {
            WorkExit::Code { code: 0 } => serde_json::from_slice(&probed.out).ok(),
            _ => None,
        };
        let answer =
            answer.unwrap_or_else(|| FileToolAnswer::failed(format!("the tool failed: {}", probed.exit)));
        FileToolAnswer { text: cut_result(&self.mask.text(&answer.text)), ..answer }
    }

    fn script_answer(&self, probed: &ProbeOutcome, timeout: Duration) -> FileToolAnswer {
        let output = self.output_text(probed);
        let end = match &probed.exit {
            WorkExit::TimedOut => format!("ended at its timeout of {} s", timeout.as_secs_f64()),
            exit => self.mask.text(&exit.to_string()).into_owned(),
        };
        let text = match output.as_str() {
            "" => format!("[no output; {end}]"),
            output if output.ends_with('\n') => format!("{output}[{end}]"),
            output => format!("{output}\n[{end}]"),
        };
        // What a script read is not known.
        let is_untrusted = !self.untrusted.is_empty() || self.has_network();
        FileToolAnswer { text, is_error: !probed.exit.is_success(), is_untrusted }
    }

    /// True if scripts can reach the network.
    fn has_network(&self) -> bool {
        self.command.sandbox.as_ref().is_none_or(|sandbox| sandbox.network)
    }

    /// Returns the output of a script, masked and cut.
    fn output_text(&self, probed: &ProbeOutcome) -> String {
        if !probed.truncated {
            // The first shell writes to the other stream if it cannot start that of the script.
            let both = [&probed.out[..], &probed.err[..]].concat();
            return cut_result(&self.mask.text(&String::from_utf8_lossy(&both)));
        }
        let mut stream = self.mask.stream();
        // What the stream holds back may be the beginning of a secret.
        let head = stream.feed(&probed.out).into_owned();
        let mut stream = self.mask.stream();
        let tail = probed.ends.out.as_bytes();
        let (dropped, tail) = tail.split_at(tail.len() / 2);
        // The tail may begin within a secret, which is then not recognised: so its first half is not shown.
        stream.feed(dropped);
        let mut shown = stream.feed(tail).into_owned();
        shown.extend(stream.finish());
        cut_ends(&String::from_utf8_lossy(&head), &String::from_utf8_lossy(&shown), probed.printed)
    }
}
