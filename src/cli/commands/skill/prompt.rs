use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::properties::{invalid, text};
use super::shelves::{find, tell_broken};
use super::walk::place;
use crate::cli::{Exit, Failure, Ui};
use crate::skill::{Offer, prompt, properties};
use crate::untrusted::untrusted;

/// Print the block that tells a model which skills there are, as the reference package does
#[derive(Args, Debug)]
pub struct PromptArgs {
    /// Folders of skills; by default, the skills that `wf skill list` finds and that load
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Prints the block.
pub fn run(ui: &Ui, args: &PromptArgs) -> Result<Exit, Failure> {
    let offers = if args.paths.is_empty() {
        found(ui)
    } else {
        let offers = args.paths.iter().map(|path| named(ui, path));
        offers.collect::<Result<Vec<Offer>, Failure>>()?
    };
    let block = prompt(&offers);
    // A program gets the text as it is; a person's terminal must not be told what to do by it.
    if ui.env.terminal {
        ui.print(&untrusted(&block).block())?;
    } else {
        ui.print_bytes(block.as_bytes())?;
    }
    Ok(Exit::Ok)
}

fn found(ui: &Ui) -> Vec<Offer> {
    let (all, folder_of) = find(ui);
    tell_broken(ui, &all);
    let counts = all.found.iter().filter(|one| one.shadowed_by.is_none());
    let offer = |one: &crate::skill::Found| {
        let skill = one.skill.as_ref().ok()?;
        Some(Offer {
            name: skill.name.clone(),
            description: skill.description.clone(),
            location: location(&folder_of(one)),
        })
    };
    counts.filter_map(offer).collect()
}

fn named(ui: &Ui, path: &Path) -> Result<Offer, Failure> {
    let place = place(ui, path)?;
    let properties = properties(&text(&place)?).map_err(|why| invalid(&place, &why))?;
    let text = |key: &str| {
        properties
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    Ok(Offer {
        name: text("name"),
        description: text("description"),
        location: location(&place.folder),
    })
}

/// Where the SKILL.md of a folder is.
fn location(folder: &Path) -> String {
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let upper = real.join("SKILL.md");
    let file = if upper.exists() {
        upper
    } else {
        real.join("skill.md")
    };
    file.display().to_string()
}
