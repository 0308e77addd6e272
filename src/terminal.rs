use std::io::IsTerminal;

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
    /// Examines the standard streams. `columns` is the width that the user asks for.
    pub fn find(columns: Option<&str>) -> Self {
        let is_output = std::io::stdout().is_terminal();
        let seen = is_output
            .then(|| rustix::termios::tcgetwinsize(std::io::stdout()).ok())
            .flatten()
            .map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)))
            .filter(|(columns, rows)| *columns > 0 && *rows > 0);
        let (width, height) = seen.unwrap_or((WIDTH, 24));
        let chosen = columns.and_then(|columns| columns.parse().ok());
        Self {
            is_interactive: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
            is_output,
            width: chosen.unwrap_or(width).clamp(20, 400),
            height,
        }
    }
}
