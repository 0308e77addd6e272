use std::io::{self, BufRead as _, IsTerminal};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use wf_app::{CliExitCode, CommandError};

/// The default width of lines.
const WIDTH: usize = 100;

/// The terminal of a command, if it has one.
#[derive(Clone, Copy)]
pub struct Terminal {
    /// True if the user can be asked.
    pub is_interactive: bool,
    /// True if standard output is a terminal.
    pub is_output: bool,
    /// The width in columns.
    pub width: usize,
    /// The height in rows.
    pub height: usize,
}

impl Terminal {
    /// Examines the standard streams. `columns` is the width wanted by the user.
    pub fn find(columns: Option<&str>) -> Self {
        let is_output = io::stdout().is_terminal();
        let size = is_output
            .then(|| rustix::termios::tcgetwinsize(io::stdout()).ok())
            .flatten()
            .map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)))
            .filter(|(columns, rows)| *columns > 0 && *rows > 0);
        let (width, height) = size.unwrap_or((WIDTH, 24));
        let chosen = columns.and_then(|columns| columns.parse().ok());
        Self {
            is_interactive: io::stdin().is_terminal() && io::stderr().is_terminal(),
            is_output,
            width: chosen.unwrap_or(width).clamp(20, 400),
            height,
        }
    }
}

/// Reads a line from the terminal.
pub fn read_line() -> Result<String, CommandError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

/// Reads a line from the terminal without an echo. `prompt` asks for it.
pub fn read_hidden(prompt: impl FnOnce()) -> Result<String, CommandError> {
    let stdin = io::stdin();
    let unusable = |error: rustix::io::Errno| {
        CommandError::new(CliExitCode::Usage, format!("cannot use the terminal: {error}"))
    };
    let before = tcgetattr(&stdin).map_err(unusable)?;
    let mut silent = before.clone();
    // An interrupt must not leave the terminal without echo: it comes as a character.
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    prompt();
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(unusable)?;
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    tcsetattr(&stdin, OptionalActions::Flush, &before).map_err(unusable)?;
    if read.is_err() || answer.contains('\u{3}') {
        return Err(CommandError::new(CliExitCode::Interrupted, "interrupted"));
    }
    Ok(answer.trim_end_matches(['\n', '\r']).to_owned())
}
