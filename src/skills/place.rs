//! Shared by all ways of adding a skill to a workspace: it is inspected, tried, shown and signed
//! for, and then written.

use serde_json::Value;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError, Host, Workspace,
    approve::{SigningOptions, confirm},
    skills::{
        InspectedSkill,
        consent::{self, SkillInstaller},
        locks,
        needs::{AcceptedDanger, InstallTerms},
        put::{SKILLS, SkillFolderLock},
        tell::{self, SkillApprovalState},
        trial::{ScriptTrial, try_scripts},
    },
};
use wf_skill::lock::{LockedSkill, locked_files};

/// The source and the destination of a skill.
pub struct SkillInstallation<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The lock that excludes other changes of skills meanwhile.
    pub lock: &'a SkillFolderLock,
    /// Its source, as the lock writes it.
    pub source: String,
    /// The commit, if it came from git.
    pub commit: Option<String>,
    /// Its folder, relative to the workspace; `None`: it is there already and is not written.
    pub installed_folder: Option<String>,
    /// The options for signing.
    pub sign: &'a SigningOptions,
    /// The accepted dangers.
    pub accept: &'a [AcceptedDanger],
    /// True to print one JSON document instead of text.
    pub json: bool,
}

/// Adds a skill: refused if it is dangerous, unless that is accepted. The earlier version stays
/// until everything was shown and signed.
pub fn install_skill(
    ui: &Ui,
    inspected: &InspectedSkill,
    installation: &SkillInstallation<'_>,
) -> Result<CliExitCode, CommandError> {
    let terms = InstallTerms::of(inspected, installation.accept)?;
    if terms.has_unaccepted_danger(inspected) {
        return danger_error(ui, inspected, &[], installation);
    }
    let name = inspected.name.as_str();
    consent::statement_name(name)?;
    let staged = installation.lock.stage(name, &inspected.bundle)?;
    let trials = try_scripts(&ui.host, installation.workspace, inspected, &staged.path)?;
    let is_declared = |trial: &&ScriptTrial| inspected.declared.scripts.contains_key(&trial.path);
    if trials.iter().filter(is_declared).any(ScriptTrial::failed) {
        return danger_error(ui, inspected, &trials, installation);
    }
    let mut lock = locks::read_lock(installation.workspace)?;
    let old_lock = lock.skills.get(name);
    show(ui, inspected, &trials, old_lock, &terms, installation)?;
    let places = tell::private_paths(inspected);
    let question = match places.as_slice() {
        [] => terms.question().to_owned(),
        _ => format!("It refers to {}. {}", places.join(", "), terms.question()),
    };
    confirm(ui, installation.sign.is_confirmed, &question)?;
    let installer = consent::find_installer(ui, installation.workspace, installation.sign)?;
    let mut locked = entry(inspected, installation, &installer, terms);
    installer.sign(ui, name, &mut locked, installation.sign)?;
    match &installation.installed_folder {
        None => staged.install()?,
        Some(_) => drop(staged),
    }
    let approvals = approval_state(&ui.host, &installer, name, &locked);
    lock.skills.insert(name.to_owned(), locked.clone());
    locks::write_lock(installation.workspace, &lock)?;
    result_message(ui, inspected, &locked, &trials, &approvals, installation)?;
    Ok(CliExitCode::Ok)
}

fn entry(
    inspected: &InspectedSkill,
    installation: &SkillInstallation<'_>,
    installer: &SkillInstaller,
    terms: InstallTerms,
) -> LockedSkill {
    let folder =
        installation.installed_folder.clone().unwrap_or_else(|| format!("{SKILLS}/{}", inspected.name));
    LockedSkill {
        folder,
        source: installation.source.clone(),
        commit: installation.commit.clone(),
        digest: inspected.bundle.digest(),
        files: locked_files(&inspected.bundle),
        granted: terms.granted,
        exceptions: terms.exceptions,
        report: inspected.report_digest(),
        installer: installer.id,
        approvals: Vec::new(),
    }
}

fn approval_state(
    host: &Host,
    installer: &SkillInstaller,
    name: &str,
    locked: &LockedSkill,
) -> SkillApprovalState {
    let verified = consent::verify_approvals(host, &installer.rules, name, locked);
    SkillApprovalState {
        are_valid: verified.is_ok(),
        reason: verified.err().map(|refusal| refusal.to_string()),
    }
}

fn show(
    ui: &Ui,
    inspected: &InspectedSkill,
    trials: &[ScriptTrial],
    old_lock: Option<&LockedSkill>,
    terms: &InstallTerms,
    installation: &SkillInstallation<'_>,
) -> Result<(), CommandError> {
    let mut text = tell::summary(inspected) + &tell::findings(inspected) + &tell::trials_text(trials);
    if let Some(before) = old_lock {
        text += &tell::differences(&ui.host, installation.workspace, before, inspected);
    }
    text += &terms.text();
    if installation.json {
        // The user must have seen it before being asked.
        if !installation.sign.is_confirmed {
            ui.print_message(&text);
        }
        return Ok(());
    }
    ui.print(&text)
}

fn danger_error(
    ui: &Ui,
    inspected: &InspectedSkill,
    trials: &[ScriptTrial],
    installation: &SkillInstallation<'_>,
) -> Result<CliExitCode, CommandError> {
    if installation.json {
        let document: Value = tell::document(inspected, None, trials, &SkillApprovalState::default());
        ui.print_json(&format!("{document}\n"))?;
        return Err(CommandError::reported(CliExitCode::Invalid));
    }
    ui.print(&(tell::findings(inspected) + &tell::trials_text(trials)))?;
    let message = format!("the skill `{}` is rejected", inspected.name.escape_debug());
    Err(CommandError::new(CliExitCode::Invalid, message)
        .hint("nothing was changed: fix or accept the dangers; docs/skills.md describes the rules and how to accept a finding"))
}

fn result_message(
    ui: &Ui,
    inspected: &InspectedSkill,
    locked: &LockedSkill,
    trials: &[ScriptTrial],
    approvals: &SkillApprovalState,
    installation: &SkillInstallation<'_>,
) -> Result<(), CommandError> {
    if installation.json {
        let document = tell::document(inspected, Some(locked), trials, approvals);
        return ui.print_json(&format!("{document}\n"));
    }
    let name = &inspected.name;
    let mut text = format!("locked {name} in {}, from {}\n", locked.folder, locked.source);
    match &approvals.reason {
        None => text += "approved with your key\n",
        Some(reason) => {
            text += &format!(
                "not approved yet: {reason}\nno plan can use it until other approvers sign: wf skill approve {name}\n"
            );
        }
    }
    ui.print(&text)
}
