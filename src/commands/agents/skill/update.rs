use clap::Args;

use crate::{
    Ui,
    skills::{
        AcceptDangerArgs, SkillSigningArgs,
        place::{SkillInstallation, install_skill},
    },
};
use wf_app::{
    CliExitCode, CommandError,
    skills::{
        SkillUseError,
        fetch::{self, fetch_skill},
        inspect_skill, locks,
        put::{SKILLS, SkillFolderLock},
    },
};
use wf_skill::lock::changes;

/// Fetch installed skills again from their sources
#[derive(Args, Debug)]
pub struct SkillUpdateArgs {
    /// Names of the skills [default: all that are locked]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Write one JSON document per skill
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    accept: AcceptDangerArgs,
    #[command(flatten)]
    sign: SkillSigningArgs,
}

/// Updates skills.
pub fn run(ui: &Ui, args: &SkillUpdateArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let hold = SkillFolderLock::acquire(ui, &workspace)?;
    let lock = locks::read_lock(&workspace)?;
    let names: Vec<String> = match args.names.as_slice() {
        [] => lock.skills.keys().cloned().collect(),
        named => named.to_vec(),
    };
    if names.is_empty() {
        ui.print_info("no locked skills\n");
    }
    for name in names {
        let locked = lock.skills.get(&name).ok_or_else(|| locks::not_locked(&name))?;
        if locked.folder != format!("{SKILLS}/{name}") || locked.source == format!("path:{}", locked.folder) {
            ui.print_info_line(&format!(
                "{name} was locked in place, so lock it again: wf skill lock {name}"
            ));
            continue;
        }
        let at_root =
            locked.source.strip_prefix("path:").map(|path| workspace.root.join(path).display().to_string());
        let fetched = fetch_skill(&ui.host, at_root.as_deref().unwrap_or(&locked.source))?;
        // After an interrupted update the new files are there already.
        let here = fetch::read_folder(&workspace.root.join(&locked.folder))?;
        let changed = changes(&locked.files, &here);
        if !changed.is_empty() && here != fetched.bundle {
            return Err(SkillUseError::Changed(changed).failure(&name));
        }
        if changes(&locked.files, &fetched.bundle).is_empty() {
            ui.print_info_line(&format!("{name} is up to date"));
            continue;
        }
        let installation = SkillInstallation {
            workspace: &workspace,
            lock: &hold,
            source: locked.source.clone(),
            commit: fetched.commit,
            installed_folder: None,
            sign: &args.sign.options(),
            accept: &args.accept.accept,
            json: args.json,
        };
        install_skill(ui, &inspect_skill(&name, fetched.bundle), &installation)?;
    }
    Ok(CliExitCode::Ok)
}
