//! Runs for a browser: each is a command of `wf` in a process of its own, as those of the daemon are, so it
//! outlives the server and starts a run in the one way there is.

use std::{
    io::{Read as _, Seek as _},
    process::{Child, Stdio},
    time::Duration,
};

use crate::{CliExitCode, CommandError, Host, keep};
use wf_base::{name::RunId, remedy::Remedy, untrusted::plain};

/// The longest wait for a run to be recorded.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The pause between two looks for it.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// The result of a started process.
pub(crate) enum BackgroundStart<T> {
    /// Its work has begun.
    Begun(T),
    /// It ended before that; with what it printed.
    Ended {
        /// Its exit code; `None`: a signal ended it.
        code: Option<i32>,
        /// Its output.
        printed: String,
    },
    /// It has not begun yet.
    Late,
}

/// Starts a command beginning a run, for as long as it has requests, and returns the run as soon as
/// `started` finds it recorded; the error of the command if it begins none. Needs a Tokio runtime, and blocks.
pub fn start_in_background(
    host: &Host,
    command: &[&str],
    started: &dyn Fn() -> Result<Option<RunId>, CommandError>,
) -> Result<RunId, CommandError> {
    let command = [command, &["--wait"]].concat();
    match start_process(host, &command, MAX_WAIT, started)? {
        BackgroundStart::Begun(run) => Ok(run),
        BackgroundStart::Ended { printed, .. } => Err(refusal(&plain(&printed))),
        BackgroundStart::Late => {
            let message = format!("the run did not begin within {} seconds", MAX_WAIT.as_secs());
            Err(CommandError::new(CliExitCode::State, message)
                .hint("it may begin later: look at the list of runs"))
        }
    }
}

/// Starts a command of this program, and waits until what it is started for has begun, or it has ended. It outlives this
/// process. Needs a Tokio runtime, and blocks.
pub(crate) fn start_process<T>(
    host: &Host,
    command: &[&str],
    max_wait: Duration,
    started: &dyn Fn() -> Result<Option<T>, CommandError>,
) -> Result<BackgroundStart<T>, CommandError> {
    let unable = |error: std::io::Error| {
        CommandError::new(CliExitCode::State, format!("cannot start a process: {error}"))
    };
    // To a file: a pipe would break when the server exits.
    let mut output = tempfile::tempfile().map_err(unable)?;
    let mut process = keep::own_command(host);
    process.args(command).stdout(Stdio::null()).stderr(output.try_clone().map_err(unable)?);
    let mut child = process.spawn().map_err(unable)?;
    let mut waited = Duration::ZERO;
    while waited < max_wait {
        // Looked for after the exit, too: a short run ends before anybody looks.
        let exit = child.try_wait().map_err(unable)?;
        if let Some(value) = started()? {
            reap(child);
            return Ok(BackgroundStart::Begun(value));
        }
        if let Some(status) = exit {
            let mut printed = String::new();
            output.rewind().and_then(|()| output.read_to_string(&mut printed)).map_err(unable)?;
            return Ok(BackgroundStart::Ended { code: status.code(), printed });
        }
        std::thread::sleep(LOOK_INTERVAL);
        waited += LOOK_INTERVAL;
    }
    reap(child);
    Ok(BackgroundStart::Late)
}

/// Waits for the end of a process elsewhere, so that it leaves nothing behind.
fn reap(mut child: Child) {
    tokio::task::spawn_blocking(move || child.wait());
}

/// Returns an error of this process with the message and the hints of the error that a command printed.
pub(super) fn refusal(printed: &str) -> CommandError {
    let after = |label: &'static str| {
        printed.lines().filter_map(move |line| line.strip_prefix(label)).map(str::to_owned)
    };
    let message = after("error: ").next().unwrap_or_else(|| printed.trim().to_owned());
    let message = if message.is_empty() { "the command ended without a run".to_owned() } else { message };
    CommandError {
        hints: after("hint: ").map(Remedy::from).collect(),
        ..CommandError::new(CliExitCode::Usage, message)
    }
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn the_error_of_a_command_is_read_from_what_it_printed() {
        let read = refusal("warning: slow\nerror: run 1a2b is gone\nhint: start another\nhint: or not\n");
        assert_eq!((read.message.as_str(), read.hints.len()), ("run 1a2b is gone", 2));
        assert_eq!(refusal(" odd \n").message, "odd");
        assert_eq!(refusal("").message, "the command ended without a run");
    }
}
