use clap::Args;

use super::update::not_locked;
use crate::Ui;
use crate::skills::SignArgs;
use wf_app::revision::GitRevision;
use wf_app::skills::consent;
use wf_app::skills::consent::SkillSigning;
use wf_app::skills::inspect_skill;
use wf_app::skills::needs::InstallTerms;
use wf_app::skills::put::SkillFolderLock;
use wf_app::skills::{SkillUseError, fetch, locks, tell};
use wf_app::{CliExitCode, CommandError, Host, Workspace};
use wf_lang::SpecFileSource as _;
use wf_skill::lock::{LOCK, LockedSkill, SkillLock, changes};

/// Review a locked skill in full, and sign for it
#[derive(Args, Debug)]
pub struct SkillApproveArgs {
    /// Name of the skill
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    sign: SignArgs,
}

/// Runs the command.
pub fn run(ui: &Ui, args: &SkillApproveArgs) -> Result<CliExitCode, CommandError> {
    approve(ui, &args.name, &args.sign.signing())
}

/// Shows a skill, asks, and adds a signature.
pub fn approve(ui: &Ui, name: &str, signing: &SkillSigning) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let _hold = SkillFolderLock::acquire(ui, &workspace)?;
    let mut lock = locks::read_lock(&workspace)?;
    let Some(locked) = lock.skills.get_mut(name) else {
        return Err(not_locked(name));
    };
    let bundle = fetch::read_folder(&workspace.root.join(&locked.folder))?;
    let changed = changes(&locked.files, &bundle);
    if !changed.is_empty() || bundle.digest() != locked.digest {
        return Err(SkillUseError::Changed(changed).failure(name));
    }
    let studied = inspect_skill(name, bundle);
    if studied.report_digest() != locked.report {
        let message = format!("the install report of `{name}` differs from the locked one");
        let hint = format!(
            "this version of wf has other rules, or skills.lock was changed; review the skill and lock it again: wf skill lock {name}"
        );
        return Err(CommandError::new(CliExitCode::Approval, message).hint(hint));
    }
    let terms = InstallTerms::locked(locked);
    if terms.has_unaccepted_danger(&studied) {
        ui.print(&tell::findings(&studied))?;
        let message = format!("the skill `{name}` is rejected: its dangers were not accepted");
        let hint = format!("accept them when installing: wf skill lock {name} --accept RULE:FILE");
        return Err(CommandError::new(CliExitCode::Invalid, message).hint(hint));
    }
    let mut text = tell::summary(&studied) + &tell::full_text(&studied) + "\n" + &tell::findings(&studied);
    if let Some(before) = committed_version(&ui.host, &workspace, name) {
        text += &tell::differences(&ui.host, &workspace, &before, &studied);
    }
    text += &terms.text();
    ui.print(&text)?;
    let rules = consent::approve(ui, &workspace, name, locked, signing)?;
    let held = consent::verify_approvals(&ui.host, &rules, name, locked);
    locks::write_lock(&workspace, &lock)?;
    ui.print(&match held {
        Ok(_) => format!("approved {name}\n"),
        Err(refusal) => format!("signed {name}; not approved yet: {refusal}\n"),
    })?;
    Ok(CliExitCode::Ok)
}

/// A skill as the last commit locks it: the version that was approved last.
fn committed_version(host: &Host, workspace: &Workspace, name: &str) -> Option<LockedSkill> {
    let bytes = GitRevision::of(workspace, "HEAD", &host.vars()).ok()?.read(LOCK).ok()?;
    let mut lock = SkillLock::parse(&String::from_utf8(bytes).ok()?).ok()?;
    lock.skills.remove(name)
}
