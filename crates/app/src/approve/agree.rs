use crate::{Caller, CliExitCode, CommandError};

/// Asks for confirmation; without a terminal, `yes` must have been given.
pub fn confirm(caller: &dyn Caller, yes: bool, question: &str) -> Result<(), CommandError> {
    if confirmed(caller, yes, question)? {
        Ok(())
    } else {
        Err(CommandError::new(CliExitCode::Approval, "aborted, nothing was signed"))
    }
}

/// True if the user confirmed, by `yes` or by the answer given now.
pub fn confirmed(caller: &dyn Caller, yes: bool, question: &str) -> Result<bool, CommandError> {
    if yes {
        return Ok(true);
    }
    if !caller.is_interactive() {
        let error = CommandError::new(CliExitCode::Usage, "not a terminal, cannot ask for confirmation");
        return Err(error.hint("review it, then pass --yes"));
    }
    let answer = caller.ask(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
