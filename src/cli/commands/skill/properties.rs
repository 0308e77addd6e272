use std::path::PathBuf;

use clap::Args;

use super::walk::{Place, place};
use crate::cli::{Exit, Failure, Ui};
use crate::skill::{NoText, ascii_json, properties};

/// Print the properties of a skill as JSON, as the reference package does
#[derive(Args, Debug)]
pub struct PropertiesArgs {
    /// The folder of a skill, or its SKILL.md
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

/// Prints properties.
pub fn run(ui: &Ui, args: &PropertiesArgs) -> Result<Exit, Failure> {
    let place = place(ui, &args.path)?;
    let text = text(&place)?;
    let properties = properties(&text).map_err(|why| invalid(&place, &why))?;
    ui.print_json(&(ascii_json(&properties) + "\n"))?;
    Ok(Exit::Ok)
}

/// The SKILL.md of a place.
pub fn text(place: &Place) -> Result<String, Failure> {
    match &place.text {
        Ok(text) => Ok(text.clone()),
        Err(NoText::NoFile | NoText::NoFolder) => {
            let message = format!("SKILL.md not found in {}", place.shown);
            Err(invalid(place, &message))
        }
        Err(none) => Err(invalid(place, &none.finding(&place.shown).message)),
    }
}

/// What the reference package says about a skill that it cannot read.
pub fn invalid(place: &Place, why: &str) -> Failure {
    let message = crate::untrusted::untrusted(why).to_string();
    let check = format!("`wf skill validate {}` says all that is wrong", place.shown);
    Failure::new(Exit::Invalid, message).hint(check)
}
