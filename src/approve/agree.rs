use std::io::BufRead as _;

use crate::{CliExitCode, CommandError, Ui};

/// Asks for confirmation; without a terminal, `yes` must have been given.
pub fn confirm(ui: &Ui, yes: bool, question: &str) -> Result<(), CommandError> {
    if confirmed(ui, yes, question)? {
        Ok(())
    } else {
        Err(CommandError::new(CliExitCode::Approval, "aborted, nothing was signed"))
    }
}

/// True if the user confirmed, by `yes` or by the answer given now.
pub fn confirmed(ui: &Ui, yes: bool, question: &str) -> Result<bool, CommandError> {
    if yes {
        return Ok(true);
    }
    if !ui.terminal.is_interactive {
        let failure = CommandError::new(CliExitCode::Usage, "not a terminal, cannot ask for confirmation");
        return Err(failure.hint("review it, then pass --yes"));
    }
    ui.print_message(&format!("{question} [y/N] "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
