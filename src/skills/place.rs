//! Shared by all ways of adding a skill to a workspace: it is inspected, tried, shown and signed
//! for, and then written.

use serde_json::Value;

use crate::Ui;
use wf_app::approve::{SigningOptions, confirm};
use wf_app::skills::InspectedSkill;
use wf_app::skills::consent::{self, SkillInstaller};
use wf_app::skills::locks;
use wf_app::skills::needs::{AcceptedDanger, InstallTerms};
use wf_app::skills::put::{SKILLS, SkillFolderLock};
use wf_app::skills::tell::{self, SkillApprovalState};
use wf_app::skills::trial::{ScriptTrial, try_scripts};
use wf_app::{CliExitCode, CommandError, Host, Workspace};
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
    way: &SkillInstallation<'_>,
) -> Result<CliExitCode, CommandError> {
    let terms = InstallTerms::of(inspected, way.accept)?;
    if terms.has_unaccepted_danger(inspected) {
        return danger_error(ui, inspected, &[], way);
    }
    let name = inspected.name.as_str();
    consent::statement_name(name)?;
    let staged = way.lock.stage(name, &inspected.bundle)?;
    let all = try_scripts(&ui.host, way.workspace, inspected, &staged.path)?;
    let is_declared = |one: &&ScriptTrial| inspected.declared.scripts.contains_key(&one.path);
    if all.iter().filter(is_declared).any(ScriptTrial::failed) {
        return danger_error(ui, inspected, &all, way);
    }
    let mut lock = locks::read_lock(way.workspace)?;
    let before = lock.skills.get(name);
    show(ui, inspected, &all, before, &terms, way)?;
    let places = tell::private_paths(inspected);
    let question = match places.as_slice() {
        [] => terms.question().to_owned(),
        _ => format!("It refers to {}. {}", places.join(", "), terms.question()),
    };
    confirm(ui, way.sign.is_confirmed, &question)?;
    let by = consent::find_installer(ui, way.workspace, way.sign)?;
    let mut locked = entry(inspected, way, &by, terms);
    by.sign(ui, name, &mut locked, way.sign)?;
    match &way.installed_folder {
        None => staged.install()?,
        Some(_) => drop(staged),
    }
    let approvals = approval_state(&ui.host, &by, name, &locked);
    lock.skills.insert(name.to_owned(), locked.clone());
    locks::write_lock(way.workspace, &lock)?;
    result_message(ui, inspected, &locked, &all, &approvals, way)?;
    Ok(CliExitCode::Ok)
}

fn entry(
    inspected: &InspectedSkill,
    way: &SkillInstallation<'_>,
    by: &SkillInstaller,
    terms: InstallTerms,
) -> LockedSkill {
    let folder = way.installed_folder.clone().unwrap_or_else(|| format!("{SKILLS}/{}", inspected.name));
    LockedSkill {
        folder,
        source: way.source.clone(),
        commit: way.commit.clone(),
        digest: inspected.bundle.digest(),
        files: locked_files(&inspected.bundle),
        granted: terms.granted,
        exceptions: terms.exceptions,
        report: inspected.report_digest(),
        installer: by.id,
        approvals: Vec::new(),
    }
}

fn approval_state(host: &Host, by: &SkillInstaller, name: &str, locked: &LockedSkill) -> SkillApprovalState {
    let held = consent::verify_approvals(host, &by.rules, name, locked);
    SkillApprovalState { are_valid: held.is_ok(), reason: held.err().map(|refusal| refusal.to_string()) }
}

fn show(
    ui: &Ui,
    inspected: &InspectedSkill,
    all: &[ScriptTrial],
    before: Option<&LockedSkill>,
    terms: &InstallTerms,
    way: &SkillInstallation<'_>,
) -> Result<(), CommandError> {
    let mut text = tell::summary(inspected) + &tell::findings(inspected) + &tell::trials_text(all);
    if let Some(before) = before {
        text += &tell::differences(&ui.host, way.workspace, before, inspected);
    }
    text += &terms.text();
    if way.json {
        // The user must have seen it before being asked.
        if !way.sign.is_confirmed {
            ui.print_message(&text);
        }
        return Ok(());
    }
    ui.print(&text)
}

fn danger_error(
    ui: &Ui,
    inspected: &InspectedSkill,
    all: &[ScriptTrial],
    way: &SkillInstallation<'_>,
) -> Result<CliExitCode, CommandError> {
    if way.json {
        let document: Value = tell::document(inspected, None, all, &SkillApprovalState::default());
        ui.print_json(&format!("{document}\n"))?;
        return Err(CommandError::reported(CliExitCode::Invalid));
    }
    ui.print(&(tell::findings(inspected) + &tell::trials_text(all)))?;
    let message = format!("the skill `{}` is rejected", inspected.name.escape_debug());
    Err(CommandError::new(CliExitCode::Invalid, message)
        .hint("nothing was changed: fix or accept the dangers; docs/skills.md describes the rules and how to accept a finding"))
}

fn result_message(
    ui: &Ui,
    inspected: &InspectedSkill,
    locked: &LockedSkill,
    all: &[ScriptTrial],
    approvals: &SkillApprovalState,
    way: &SkillInstallation<'_>,
) -> Result<(), CommandError> {
    if way.json {
        let document = tell::document(inspected, Some(locked), all, approvals);
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
