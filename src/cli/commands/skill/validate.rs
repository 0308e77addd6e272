use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::verdicts::{Judged, document, judge, table};
use super::walk::places;
use crate::cli::{Exit, Failure, Ui};
use crate::skill::Profile;
use crate::untrusted::untrusted;

/// Say whether skills are as the standard wants them, and whether wf loads them
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf skill validate skills/coding                   all three verdicts, with what is wrong
  wf skill validate skills                          a table of all skills below a folder
  wf skill validate . --profile reference           what the reference validator prints

Exit code 3 if a verdict that was asked for is a no, 2 if a path does not exist.")]
pub struct ValidateArgs {
    /// The folder of a skill, its SKILL.md, or a folder of skills
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// By whose rules; by default, all of them side by side
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Rules>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// By whose rules a skill is judged.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Rules {
    /// Those of the published reference validator
    Reference,
    /// Those of the specification
    Spec,
    /// Whether wf loads it
    Load,
}

/// Validates skills.
pub fn run(ui: &Ui, args: &ValidateArgs) -> Result<Exit, Failure> {
    let profiles = match args.profile {
        None => Profile::ALL.to_vec(),
        Some(Rules::Reference) => vec![Profile::Reference],
        Some(Rules::Spec) => vec![Profile::Spec],
        Some(Rules::Load) => vec![Profile::Load],
    };
    let places = places(ui, &args.paths)?;
    let all: Vec<Judged<'_>> = places.iter().map(|place| judge(place, &profiles)).collect();
    let is_reference = matches!(args.profile, Some(Rules::Reference));
    if args.json {
        let document = document(&all, &profiles);
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if is_reference {
        for one in &all {
            as_reference(ui, one)?;
        }
    } else if let [one] = all.as_slice() {
        ui.print(&one.text())?;
    } else {
        ui.print(&table(&all, &profiles))?;
    }
    let is_valid = all.iter().all(Judged::is_valid);
    Ok(if is_valid { Exit::Ok } else { Exit::Invalid })
}

/// What the reference validator prints.
fn as_reference(ui: &Ui, one: &Judged<'_>) -> Result<(), Failure> {
    let shown = &one.place.shown;
    if one.is_valid() {
        return ui.print_line(&format!("Valid skill: {shown}"));
    }
    ui.say_line(&format!("Validation failed for {shown}:"));
    for finding in one.verdicts.iter().flat_map(|verdict| &verdict.broken) {
        ui.say_line(&format!("  - {}", untrusted(&finding.message)));
    }
    Ok(())
}
