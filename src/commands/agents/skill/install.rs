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
        consent,
        fetch::{self, fetch_skill},
        inspect_skill, locks, own_name,
        put::{SKILLS, SkillFolderLock},
    },
};
use wf_skill::SkillBundle;

/// Inspect a skill, try its scripts in a sandbox, and put it into skills/
#[derive(Args, Debug)]
#[command(after_help = "\
The skill is inspected before any of it is executed, and nothing is written if a problem is found.
Its files and approvers are recorded in skills.lock, to be committed to git. docs/skills.md lists
what is rejected.

Examples:
  wf skill install ../skills/tables
  wf skill install git:https://example.org/skills#v1:tables
  wf skill install bundled:coding")]
pub struct SkillInstallArgs {
    /// A folder, git:URL#REV:FOLDER, or bundled:NAME
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    accept: AcceptDangerArgs,
    #[command(flatten)]
    sign: SkillSigningArgs,
}

/// Installs a skill.
pub fn run(ui: &Ui, args: &SkillInstallArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let fetched = fetch_skill(&ui.host, &args.source)?;
    if let Some(error) = no_skill_here(&fetched.bundle, &args.source) {
        return Err(error);
    }
    let name = own_name(&fetched.bundle, &fetched.folder).unwrap_or(fetched.folder);
    // A skill with an invalid name would have to be changed: it is then not what its author published, but an import.
    consent::statement_name(&name).map_err(|error| {
        let import = format!("wf skill import {}", args.source.escape_debug());
        error.hint(format!("import it under a valid name: {import}"))
    })?;
    let folder_lock = SkillFolderLock::acquire(ui, &workspace)?;
    let place = workspace.root.join(SKILLS).join(&name);
    let is_there = std::fs::symlink_metadata(&place).is_ok();
    let is_locked = locks::read_lock(&workspace)?.skills.contains_key(&name);
    // After an interrupted install the very same files are there.
    let is_same = || fetch::read_folder(&place).is_ok_and(|bundle| bundle == fetched.bundle);
    if is_locked || is_there && !is_same() {
        let message = format!("the skill `{name}` already exists");
        let hint = if is_locked {
            format!("update it with wf skill update {name}, or remove it with wf skill remove {name}")
        } else {
            format!("lock the existing one: wf skill lock {name}")
        };
        return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
    }
    let installation = SkillInstallation {
        workspace: &workspace,
        lock: &folder_lock,
        source: fetched.source,
        commit: fetched.commit,
        installed_folder: None,
        sign: &args.sign.options(),
        accept: &args.accept.accept,
        json: args.json,
    };
    install_skill(ui, &inspect_skill(&name, fetched.bundle), &installation)
}

/// The failure for a folder that is not a skill and contains some, as a repository of skills does.
fn no_skill_here(bundle: &SkillBundle, source: &str) -> Option<CommandError> {
    if bundle.files.keys().any(|path| is_skill_md(path)) {
        return None;
    }
    let skill_folders: Vec<&str> = bundle
        .files
        .keys()
        .filter_map(|path| path.rsplit_once('/'))
        .filter(|(_, name)| is_skill_md(name))
        .map(|(folder, _)| folder)
        .collect();
    let first = skill_folders.first()?;
    let choice = match source.strip_prefix("git:") {
        Some(git) => {
            let url = git.split('#').next().unwrap_or(git);
            format!("git:{url}#REV:{first}")
        }
        None => format!("{}/{first}", source.trim_end_matches('/')),
    };
    let message = format!("not a skill, but a directory of skills: {}", skill_folders.join(", "));
    Some(
        CommandError::new(CliExitCode::Usage, message).hint(format!("choose one: wf skill install {choice}")),
    )
}

/// True if a path is that of the main file of a skill, in either spelling.
fn is_skill_md(path: &str) -> bool {
    path == "SKILL.md" || path == "skill.md"
}
