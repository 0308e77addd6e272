//! The start of a sandbox, and its report.

use std::{
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
};

use wf_core::machine::WorkExit;
use wf_model::EngineFailure;

use super::{
    ControlFiles, IsolationKind, SandboxSpec,
    limits::LimitGroup,
    messages::{INPUT_FD, ORDER_FD, PRIVATE_LIST_FD, SANDBOX_STAGE_ARG, SandboxOrder, StageMessage},
    root::private,
};
use crate::{
    agent_tool,
    processes::{
        process::ProcessCommand,
        spawn::{self, OWN_PROGRAM, ProcessImage, SpawnedProcess},
        tree,
    },
    work_error::WorkError,
};

/// A sandbox as seen from outside.
#[derive(Debug)]
pub(crate) struct SandboxHandle {
    talk: UnixStream,
    /// The control group, removed after everything in it has exited.
    group: LimitGroup,
}

/// The report of an ended sandbox.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SandboxReport {
    /// The enforced guards.
    pub(crate) isolation: Vec<IsolationKind>,
    /// The exit of the command, or the reason why it did not begin; `None`: the sandbox died first.
    pub(crate) exit: Option<WorkExit>,
}

/// A sandbox about to start.
#[derive(Debug, Default)]
pub(crate) struct PreparedSandbox {
    /// The sandbox, with the files found to protect; `None`: unconfined.
    pub(crate) sandbox: Option<Box<SandboxSpec>>,
    /// The control files its processes might create.
    pub(crate) control: Option<Box<ControlFiles>>,
}

/// Finds the paths the sandbox of a command hides or protects, if it has one: both searches may be slow, and must not
/// count as the command's time.
pub(crate) async fn prepare(command: &ProcessCommand) -> Result<PreparedSandbox, WorkError> {
    let Some(mut sandbox) = command.sandbox.clone().map(Box::new) else {
        return Ok(PreparedSandbox::default());
    };
    // A request about files creates no repository: the tools see to that.
    let makes_repositories = !agent_tool::is_stage(&command.argv);
    let search = tokio::task::spawn_blocking(move || {
        // The start repeats the lookup and reports its error.
        let _ = private::of_system();
        let control = sandbox.record_control(makes_repositories)?.map(Box::new);
        Ok(PreparedSandbox { sandbox: Some(sandbox), control })
    });
    search.await.unwrap_or_else(|error| {
        Err(WorkError::engine(EngineFailure::Setup, format!("cannot prepare a sandbox: {error}")))
    })
}

/// Starts a command in a sandbox; it reads from the pipe, if there is one. `env` is its whole
/// environment.
pub(crate) fn start(
    command: &ProcessCommand,
    feed: Option<&OwnedFd>,
    sandbox: &SandboxSpec,
    mut env: Vec<String>,
    mark: &str,
) -> Result<(SpawnedProcess, SandboxHandle), WorkError> {
    if sandbox.is_below_repository() {
        env.push("GIT_DISCOVERY_ACROSS_FILESYSTEM=1".to_owned());
    }
    let unable = |error: io::Error| {
        WorkError::engine(EngineFailure::Setup, format!("cannot start a sandbox: {error}"))
    };
    let group = LimitGroup::make(mark, &sandbox.limits);
    let order = SandboxOrder {
        sandbox: sandbox.clone(),
        argv: command.argv.clone(),
        env,
        cwd: command.cwd.clone(),
        path: command.path().map(str::to_owned),
        input: command.input.clone(),
        fed: feed.is_some(),
        outside: group.isolation().to_vec(),
    };
    let order = serde_json::to_vec(&order).map_err(io::Error::from);
    let order = order.and_then(|order| spawn::readable(&order)).map_err(unable)?;
    let hidden = private::of_system().and_then(|paths| spawn::readable(&private::encoded(&paths)));
    let hidden = hidden.map_err(unable)?;
    let (mut talk, end) = UnixStream::pair().map_err(unable)?;
    let argv = ["wf-sandbox".to_owned(), SANDBOX_STAGE_ARG.to_owned()];
    let marked = [format!("{}={mark}", tree::MARK_VARIABLE)];
    let image =
        ProcessImage { program: Path::new(OWN_PROGRAM), argv: &argv, env: &marked, cwd: Path::new("/") };
    let mut descriptors =
        vec![(end.as_fd(), 0), (order.as_fd(), ORDER_FD), (hidden.as_fd(), PRIVATE_LIST_FD)];
    descriptors.extend(feed.map(|feed| (feed.as_fd(), INPUT_FD)));
    let started = spawn::spawn(image, &descriptors).map_err(unable)?;
    let ready = group.admit(started.pid).and_then(|()| {
        talk.set_nonblocking(true)?;
        talk.write_all(&[1])
    });
    // Without the go-ahead the sandbox just exits.
    ready.map_err(unable)?;
    let confined = SandboxHandle { talk, group };
    Ok((started, confined))
}

impl SandboxHandle {
    pub(crate) fn report(&mut self) -> SandboxReport {
        let mut text = Vec::new();
        // All senders have exited, so nothing more can arrive.
        let _ = self.talk.read_to_end(&mut text);
        let mut report = SandboxReport::default();
        let words = text.split(|byte| *byte == b'\n');
        for word in words.filter_map(|line| serde_json::from_slice(line).ok()) {
            match word {
                StageMessage::Holds(isolation) => report.isolation = isolation,
                StageMessage::Exit(exit) => report.exit = Some(exit),
            }
        }
        let killed =
            |exit: &WorkExit| matches!(exit, WorkExit::Signal { signal: 9 } | WorkExit::Code { code: 137 });
        if report.exit.as_ref().is_none_or(killed) && self.group.ran_out() {
            let reason = "it exceeded the memory limit in `limits`";
            report.exit = Some(WorkError::environmental(reason).into());
        }
        report
    }
}
