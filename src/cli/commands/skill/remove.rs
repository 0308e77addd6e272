use clap::Args;

use super::update::not_locked;
use crate::cli::skills::put::{Hold, SKILLS};
use crate::cli::skills::{consent, locks};
use crate::cli::{Exit, Failure, Ui};

/// Take a skill out of the workspace
#[derive(Args, Debug)]
pub struct RemoveArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    name: String,
}

/// Removes a skill: first from the lock, so that it can be used no more, whatever happens then.
pub fn run(ui: &Ui, args: &RemoveArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    consent::id(&args.name)?;
    let hold = Hold::take(ui, &workspace)?;
    let mut lock = locks::read(&workspace)?;
    let locked = lock.skills.remove(&args.name);
    let lies = workspace.root.join(SKILLS).join(&args.name);
    let is_there = std::fs::symlink_metadata(&lies).is_ok();
    if locked.is_none() {
        // What was never locked is not ours to delete.
        return Err(not_locked(&args.name));
    }
    locks::write(&workspace, &lock)?;
    let elsewhere = locked.filter(|locked| locked.folder != format!("{SKILLS}/{}", args.name));
    if let Some(locked) = elsewhere {
        ui.print_line(&format!(
            "{} is locked no more; its files stay in {}",
            args.name, locked.folder
        ))?;
    } else {
        if is_there {
            hold.remove(&args.name)?;
        }
        ui.print_line(&format!("removed {}", args.name))?;
    }
    Ok(Exit::Ok)
}
