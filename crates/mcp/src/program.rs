use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::process::Pid;

use crate::{command::McpCommand, wait::CallStop};

/// The maximum size of what a command may print, in bytes.
const MAX_OUTPUT: u64 = 4 * 1024 * 1024;

/// The maximum size of the messages that are read, in bytes.
const MAX_MESSAGES: u64 = 64 * 1024;

/// The program, and the workspace it works in.
#[derive(Clone, Debug)]
pub struct WfProgram {
    /// The executable.
    pub program: PathBuf,
    /// The root of the workspace: absolute.
    pub root: PathBuf,
    /// The state folder: absolute.
    pub state: PathBuf,
}

/// The output of an ended command, or of a begun run.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// The exit code; `None`: it goes on, or a signal ended it.
    pub(crate) code: Option<i32>,
    /// The answer.
    pub(crate) out: String,
    pub(crate) messages: String,
}

/// The reason why a command gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandFailure {
    /// It cannot be executed.
    #[error("error: cannot execute `wf {command}`: {reason}")]
    System { command: String, reason: io::Error },
    /// Its answer is too long.
    #[error(
        "error: `wf {0}` prints more than {max} MiB\nhint: ask for less, or execute it on a command line",
        max = MAX_OUTPUT >> 20
    )]
    TooLong(String),
}

impl WfProgram {
    /// Executes a command to its end.
    pub(crate) fn execute(
        &self,
        command: &McpCommand,
        stop: &CallStop,
    ) -> Result<CommandOutput, CommandFailure> {
        let failed = |reason| CommandFailure::System { command: command.argv.join(" "), reason };
        let mut started = StartedCommand::spawn(self.command(command), command).map_err(failed)?;
        stop.watch(started.pid());
        let mut out = Vec::new();
        let read = started.out.by_ref().take(MAX_OUTPUT + 1).read_to_end(&mut out);
        let is_long = out.len() as u64 > MAX_OUTPUT;
        if is_long {
            let _ = started.child.kill();
        }
        // From here on, the number may be that of another process.
        stop.watch(None);
        let ended = read.and_then(|_| started.end(out)).map_err(failed)?;
        if is_long { Err(CommandFailure::TooLong(command.argv.join(" "))) } else { Ok(ended) }
    }

    /// Starts a run, and returns its first event, with the process that goes on; without one, if it ended before.
    pub(crate) fn start(
        &self,
        command: &McpCommand,
        stop: &CallStop,
    ) -> Result<(CommandOutput, Option<Child>), CommandFailure> {
        let failed = |reason| CommandFailure::System { command: command.argv.join(" "), reason };
        let mut process = self.command(command);
        // Who ends the server, and everything with it, does not end the runs.
        process.process_group(0);
        let mut started = StartedCommand::spawn(process, command).map_err(failed)?;
        stop.watch(started.pid());
        let mut line = String::new();
        let read = BufReader::new(started.out.by_ref().take(MAX_OUTPUT)).read_line(&mut line);
        stop.watch(None);
        if read.map_err(failed)? == 0 {
            return Ok((started.end(Vec::new()).map_err(failed)?, None));
        }
        Ok((CommandOutput { code: None, out: line, messages: String::new() }, Some(started.child)))
    }

    fn command(&self, command: &McpCommand) -> Command {
        #[expect(clippy::disallowed_methods, reason = "this is wf itself, which ends what it starts")]
        let mut process = Command::new(&self.program);
        process.arg("--state").arg(&self.state).args(["--color", "never"]).args(&command.argv);
        // Commands for GitHub Actions are for the log of a job, not for a client.
        process.current_dir(&self.root).env_remove("GITHUB_ACTIONS");
        process.stdin(if command.params.is_some() { Stdio::piped() } else { Stdio::null() });
        process.stdout(Stdio::piped());
        process
    }
}

/// A command at work.
struct StartedCommand {
    child: Child,
    out: ChildStdout,
    /// The messages go to a file, so nobody has to read them while the command works.
    messages: File,
}

impl StartedCommand {
    fn spawn(mut process: Command, command: &McpCommand) -> io::Result<Self> {
        let messages = tempfile::tempfile()?;
        let mut child = process.stderr(messages.try_clone()?).spawn()?;
        let closed = || io::Error::other("it has no standard output");
        let out = child.stdout.take().ok_or_else(closed)?;
        if let (Some(params), Some(mut to)) = (&command.params, child.stdin.take()) {
            // Who does not read them says why.
            let _ = serde_json::to_writer(&mut to, params);
            let _ = to.flush();
        }
        Ok(Self { child, out, messages })
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    fn end(mut self, out: Vec<u8>) -> io::Result<CommandOutput> {
        let status = self.child.wait()?;
        let mut messages = Vec::new();
        self.messages.seek(SeekFrom::Start(0))?;
        self.messages.take(MAX_MESSAGES).read_to_end(&mut messages)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(CommandOutput { code: status.code(), out: text(out), messages: text(messages) })
    }
}
