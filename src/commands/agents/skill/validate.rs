use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    verdicts::{SkillValidation, SkillVerdicts},
    walk::find_skills,
};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::{keyword::Keyword, untrusted::untrusted};
use wf_skill::ValidationProfile;

/// Validate skills against the standard, and check that wf loads them
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf skill validate skills/coding                   all three verdicts, with the problems
  wf skill validate skills                          a table of all skills below a directory
  wf skill validate . --profile reference           the output of the reference validator

Exit code 3 if a requested verdict is negative, 2 if a path does not exist.")]
pub struct SkillValidateArgs {
    /// Folder of a skill, its SKILL.md, or a folder of skills
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Rules to validate by [default: all of them side by side]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ValidationRulesArg>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// The rules to validate a skill by.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ValidationRulesArg {
    /// The published reference validator
    Reference,
    /// The specification
    Spec,
    /// The loader of wf
    Load,
}

/// Validates skills.
pub fn run(ui: &Ui, args: &SkillValidateArgs) -> Result<CliExitCode, CommandError> {
    let profiles = match args.profile {
        None => ValidationProfile::ALL.to_vec(),
        Some(ValidationRulesArg::Reference) => vec![ValidationProfile::Reference],
        Some(ValidationRulesArg::Spec) => vec![ValidationProfile::Spec],
        Some(ValidationRulesArg::Load) => vec![ValidationProfile::Load],
    };
    let validation = SkillValidation::judge(find_skills(ui, &args.paths)?, profiles);
    if args.json {
        let document = validation.document();
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if matches!(args.profile, Some(ValidationRulesArg::Reference)) {
        validation.skills.iter().try_for_each(|verdicts| print_reference(ui, verdicts))?;
    } else {
        ui.print(&validation.text())?;
    }
    Ok(if validation.is_valid() { CliExitCode::Ok } else { CliExitCode::Invalid })
}

/// Prints the output of the reference validator.
fn print_reference(ui: &Ui, verdicts: &SkillVerdicts) -> Result<(), CommandError> {
    let shown = &verdicts.location.shown;
    if verdicts.is_valid() {
        return ui.print_line(&format!("Valid skill: {shown}"));
    }
    ui.print_message_line(&format!("Validation failed for {shown}:"));
    for finding in verdicts.verdicts.iter().flat_map(|verdict| &verdict.violations) {
        ui.print_message_line(&format!("  - {}", untrusted(&finding.message)));
    }
    Ok(())
}
