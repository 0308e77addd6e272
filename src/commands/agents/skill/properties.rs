use std::path::PathBuf;

use clap::Args;

use super::walk::find_skill;
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_skill::ascii_json;

/// Print the properties of a skill as JSON, as the reference package does
#[derive(Args, Debug)]
pub struct SkillPropertiesArgs {
    /// Folder of a skill, or its SKILL.md
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// Prints properties.
pub fn run(ui: &Ui, args: &SkillPropertiesArgs) -> Result<CliExitCode, CommandError> {
    let properties = find_skill(ui, &args.path)?.properties()?;
    ui.print_json(&(ascii_json(&properties) + "\n"))?;
    Ok(CliExitCode::Ok)
}
