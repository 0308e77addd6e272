use crate::{
    Caller, CliExitCode, CommandError,
    skills::{ApprovedSkill, check_all_usable},
    specs::load::LoadedPlan,
};
use wf_base::remedy::{Remedy, UserAction};
use wf_core::machine::PinnedFile;
use wf_exec::pinned;

/// Refuses to start a plan unless each skill whose scripts it runs is locked, unchanged since, and
/// approved. INV-06.
pub fn check_skills(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    files: &[PinnedFile],
    began: bool,
) -> Result<(), CommandError> {
    let plan = loaded.goal.as_ref().map_or(&loaded.plan, |goal_plan| &goal_plan.whole_plan);
    let mut folders: Vec<String> = pinned::skills(plan).into_iter().collect();
    let listed = plan.parts().skills.iter().flatten();
    let name = |folder: &String| folder.rsplit('/').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = folders.iter().map(name).collect();
    names.extend(listed.map(ToString::to_string));
    names.sort();
    names.dedup();
    let skills = check_all_usable(caller, &loaded.workspace, &names)?;
    // The executed files are the ones reviewed here, even if they differed for a moment.
    if let Some((path, is_part)) = skills.iter().find_map(|skill| mismatched_file(skill, files)) {
        if !is_part {
            let message = format!("{path} is not part of the locked skill");
            return Err(CommandError::new(CliExitCode::Approval, message)
                .hint("use a script that is part of the skill"));
        }
        let (since, hint) = if began {
            ("since the run started", Remedy::from("start a new run: ").action(UserAction::StartRunAgain))
        } else {
            ("while it was being read", "try again".into())
        };
        let message = format!("{path} was changed {since}");
        return Err(CommandError::new(CliExitCode::Approval, message).hint(hint));
    }
    folders.retain(|folder| skills.iter().all(|skill| skill.folder != *folder));
    let Some(other) = folders.first() else {
        return Ok(());
    };
    // Of two folders of the same name, the other one was approved.
    let message = format!("the plan uses the skill in {other}, but another directory is locked");
    Err(CommandError::new(CliExitCode::Approval, message)
        .remedy("remove one of them, or lock the one in use: ", UserAction::ChooseLock))
}

/// Returns a file of a skill with another pin than its lock, and true if it is part of the skill.
fn mismatched_file<'p>(skill: &ApprovedSkill, files: &'p [PinnedFile]) -> Option<(&'p str, bool)> {
    let below = |pin: &'p PinnedFile| Some((pin, pin.path.strip_prefix(&skill.folder)?.strip_prefix('/')?));
    let mut own = files.iter().filter_map(below);
    let differs = |(pin, path): &(&PinnedFile, &str)| {
        skill.files.get(*path).map(|file| file.digest) != Some(pin.digest)
    };
    let difference = own.find(differs);
    difference.map(|(pin, path)| (pin.path.as_str(), skill.files.contains_key(path)))
}
