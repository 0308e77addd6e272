use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    skills::{
        consent, locks,
        put::{SKILLS, SkillFolderLock},
    },
};

/// Remove a skill from the workspace
#[derive(Args, Debug)]
pub struct SkillRemoveArgs {
    /// Name of the skill
    #[arg(value_name = "NAME")]
    name: String,
}

/// Removes a skill: first from the lock, so that it is unusable, whatever happens then.
pub fn run(ui: &Ui, args: &SkillRemoveArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    consent::statement_name(&args.name)?;
    let hold = SkillFolderLock::acquire(ui, &workspace)?;
    let mut lock = locks::read_lock(&workspace)?;
    let locked = lock.skills.remove(&args.name);
    let lies = workspace.root.join(SKILLS).join(&args.name);
    let is_there = std::fs::symlink_metadata(&lies).is_ok();
    if locked.is_none() {
        // A skill that was never locked is not ours to delete.
        return Err(locks::not_locked(&args.name));
    }
    locks::write_lock(&workspace, &lock)?;
    let elsewhere = locked.filter(|locked| locked.folder != format!("{SKILLS}/{}", args.name));
    if let Some(locked) = elsewhere {
        ui.print_line(&format!("removed the lock of {}; its files stay in {}", args.name, locked.folder))?;
    } else {
        if is_there {
            hold.remove(&args.name)?;
        }
        ui.print_line(&format!("removed {}", args.name))?;
    }
    Ok(CliExitCode::Ok)
}
