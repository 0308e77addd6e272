use clap::Args;
use serde_json::json;

use crate::{
    Ui,
    actions::command_text,
    skills::{
        AcceptDangerArgs, SkillSigningArgs,
        place::{SkillInstallation, install_skill},
    },
};
use wf_app::{
    CliExitCode, CommandError, Workspace,
    approve::SigningRules,
    skills::{check_usable, consent, fetch, inspect_skill, locks, put::SkillFolderLock},
};
use wf_base::untrusted::{BAD, GOOD, paint};
use wf_skill::SHELVES;

/// Inspect skills that are in the workspace already, and lock them as they are
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf skill lock tables     after writing or changing skills/tables
  wf skill lock --check    for CI: exit code 4 if anything differs from its lock")]
pub struct SkillLockArgs {
    /// Names of the skills [default: all of the workspace]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Lock nothing; only check that all skills are as locked and approved
    #[arg(long)]
    check: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    accept: AcceptDangerArgs,
    #[command(flatten)]
    sign: SkillSigningArgs,
}

/// Locks skills, or checks their locks.
pub fn run(ui: &Ui, args: &SkillLockArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let mut names = args.names.clone();
    if names.is_empty() {
        names = installed_skills(&workspace)?;
    }
    if args.check {
        return check(ui, &workspace, names, args.json);
    }
    let hold = SkillFolderLock::acquire(ui, &workspace)?;
    for name in names {
        consent::statement_name(&name)?;
        let Some(folder) = folder(&workspace, &name) else {
            let message = format!("the workspace has no skill `{}`", name.escape_debug());
            return Err(
                CommandError::new(CliExitCode::Usage, message).hint("for the existing skills: wf skill list")
            );
        };
        let bundle = fetch::read_folder(&workspace.root.join(&folder))?;
        let lock = locks::read_lock(&workspace)?;
        let before = lock.skills.get(&name);
        // Its recorded source stays as long as the files are unchanged.
        let came = before.filter(|old_lock| old_lock.folder == folder && old_lock.digest == bundle.digest());
        let installation = SkillInstallation {
            workspace: &workspace,
            lock: &hold,
            source: came.map_or_else(|| format!("path:{folder}"), |old_lock| old_lock.source.clone()),
            commit: came.and_then(|old_lock| old_lock.commit.clone()),
            installed_folder: Some(folder),
            sign: &args.sign.options(),
            accept: &args.accept.accept,
            json: args.json,
        };
        install_skill(ui, &inspect_skill(&name, bundle), &installation)?;
    }
    Ok(CliExitCode::Ok)
}

/// The folder of a skill of the workspace, relative to it.
fn folder(workspace: &Workspace, name: &str) -> Option<String> {
    let mut folders = SHELVES.iter().map(|shelf| format!("{shelf}/{name}"));
    folders.find(|folder| workspace.root.join(folder).join("SKILL.md").exists())
}

/// The names of all skills in the workspace.
fn installed_skills(workspace: &Workspace) -> Result<Vec<String>, CommandError> {
    let mut names = std::collections::BTreeSet::new();
    for shelf in SHELVES {
        let Ok(entries) = std::fs::read_dir(workspace.root.join(shelf)) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && entry.path().join("SKILL.md").exists() {
                names.insert(name);
            }
        }
    }
    Ok(names.into_iter().collect())
}

fn check(
    ui: &Ui,
    workspace: &Workspace,
    mut names: Vec<String>,
    json: bool,
) -> Result<CliExitCode, CommandError> {
    let lock = locks::read_lock(workspace)?;
    names.extend(lock.skills.keys().cloned());
    names.sort();
    names.dedup();
    let rules = SigningRules::of(ui, workspace)?;
    let (mut all_hold, mut text, mut rows) = (true, String::new(), Vec::new());
    for name in &names {
        // It may be the name of a folder that was not meant to be displayed.
        let shown = name.escape_debug();
        match check_usable(&ui.host, workspace, &rules, &lock, name) {
            Ok(skill) => {
                let by: Vec<&str> = skill.signers.iter().map(|signer| signer.name.as_str()).collect();
                let reason = if by.is_empty() {
                    "bundled with this version of wf".to_owned()
                } else {
                    format!("approved by {}", by.join(", "))
                };
                text += &format!("{} {shown}: {reason}\n", paint(GOOD, "valid:"));
                rows.push(json!({"skill": name, "holds": true, "by": by}));
            }
            Err(error) => {
                all_hold = false;
                let (reason, remedy) = (error.message(), error.remedy(name).render(&command_text));
                text += &format!("{} {shown}: {reason}\n  {remedy}\n", paint(BAD, "invalid:"));
                rows.push(json!({"skill": name, "holds": false, "reason": reason, "remedy": remedy}));
            }
        }
    }
    if json {
        text = format!("{}\n", serde_json::Value::Array(rows));
    }
    ui.print(&text)?;
    Ok(if all_hold { CliExitCode::Ok } else { CliExitCode::Approval })
}
