use std::path::PathBuf;

use clap::Args;

use super::walk::{SkillLocation, find_skill};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_skill::{SkillTextError, ascii_json, properties};

/// Print the properties of a skill as JSON, as the reference package does
#[derive(Args, Debug)]
pub struct SkillPropertiesArgs {
    /// Folder of a skill, or its SKILL.md
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// Prints properties.
pub fn run(ui: &Ui, args: &SkillPropertiesArgs) -> Result<CliExitCode, CommandError> {
    let place = find_skill(ui, &args.path)?;
    let text = text(&place)?;
    let properties = properties(&text).map_err(|reason| invalid(&place, &reason))?;
    ui.print_json(&(ascii_json(&properties) + "\n"))?;
    Ok(CliExitCode::Ok)
}

/// Reads the SKILL.md of a folder.
pub fn text(location: &SkillLocation) -> Result<String, CommandError> {
    match &location.text {
        Ok(text) => Ok(text.clone()),
        Err(SkillTextError::NoFile | SkillTextError::NoFolder) => {
            let message = format!("SKILL.md not found in {}", location.shown);
            Err(invalid(location, &message))
        }
        Err(none) => Err(invalid(location, &none.finding(&location.shown).message)),
    }
}

/// The message of the reference package for a skill that it cannot read.
pub fn invalid(location: &SkillLocation, reason: &str) -> CommandError {
    let message = wf_base::untrusted::untrusted(reason).to_string();
    let check = format!("for all problems: wf skill validate {}", location.shown);
    CommandError::new(CliExitCode::Invalid, message).hint(check)
}
