use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::{
    shelves::{find, warn_of_broken},
    walk::find_skill,
};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted::untrusted;
use wf_skill::{PromptSkill, prompt};

/// Print the block that lists skills to a model, as the reference package does
#[derive(Args, Debug)]
pub struct SkillPromptArgs {
    /// Folders of skills [default: the skills that `wf skill list` finds and that load]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// Prints the block.
pub fn run(ui: &Ui, args: &SkillPromptArgs) -> Result<CliExitCode, CommandError> {
    let offers = if args.paths.is_empty() {
        find_skills(ui)
    } else {
        let offers = args.paths.iter().map(|path| find_named(ui, path));
        offers.collect::<Result<Vec<PromptSkill>, CommandError>>()?
    };
    let block = prompt(&offers);
    // A program gets the text as it is; a terminal must not be controlled by it.
    if ui.terminal.is_output {
        ui.print(&untrusted(&block).block())?;
    } else {
        ui.print_bytes(block.as_bytes())?;
    }
    Ok(CliExitCode::Ok)
}

fn find_skills(ui: &Ui) -> Vec<PromptSkill> {
    let (discovery, folder_of) = find(ui);
    warn_of_broken(ui, &discovery);
    let counts = discovery.skills.iter().filter(|skill| skill.shadowed_by.is_none());
    let offer = |discovered: &wf_skill::DiscoveredSkill| {
        let skill = discovered.skill.as_ref().ok()?;
        Some(PromptSkill {
            name: skill.name.clone(),
            description: skill.description.clone(),
            location: location(&folder_of(discovered)),
        })
    };
    counts.filter_map(offer).collect()
}

fn find_named(ui: &Ui, path: &Path) -> Result<PromptSkill, CommandError> {
    let place = find_skill(ui, path)?;
    let properties = place.properties()?;
    let text = |key: &str| properties.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    Ok(PromptSkill {
        name: text("name"),
        description: text("description"),
        location: location(&place.folder),
    })
}

/// The path of the SKILL.md of a folder.
fn location(folder: &Path) -> String {
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let upper = real.join("SKILL.md");
    let file = if upper.exists() { upper } else { real.join("skill.md") };
    file.display().to_string()
}
