use std::io::BufRead as _;

use crate::cli::{Exit, Failure, Ui};

/// Asks whether that is meant; where nobody can be asked, it must have been said.
pub fn agreed(ui: &Ui, yes: bool, question: &str) -> Result<(), Failure> {
    if asked(ui, yes, question)? {
        Ok(())
    } else {
        Err(Failure::new(Exit::Approval, "nothing was signed"))
    }
}

/// Whether that is meant, by what was said before or is answered now.
pub fn asked(ui: &Ui, yes: bool, question: &str) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !ui.env.asks {
        let failure = Failure::new(Exit::Usage, "nobody can be asked whether that is meant");
        return Err(failure.hint("--yes says so, once you have looked at it"));
    }
    ui.say(&format!("{question} [y/N] "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
