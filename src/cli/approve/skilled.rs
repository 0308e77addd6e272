use crate::cli::load::Ready;
use crate::cli::skills::hold;
use crate::cli::{Exit, Failure, Ui};
use crate::exec::pinned;

/// Refuses to begin a plan unless each skill whose scripts it runs is locked, is what was locked,
/// and is approved. INV-06.
pub(super) fn skills_hold(ui: &Ui, ready: &Ready) -> Result<(), Failure> {
    let plan = ready.goal.as_ref().map_or(&ready.plan, |of| &of.whole);
    let mut folders: Vec<String> = pinned::skills(plan).into_iter().collect();
    let listed = plan.parts().skills.iter().flatten();
    let name = |folder: &String| folder.rsplit('/').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = folders.iter().map(name).collect();
    names.extend(listed.map(ToString::to_string));
    names.sort();
    names.dedup();
    let held = hold(ui, &ready.workspace, &names)?;
    folders.retain(|folder| held.iter().all(|one| one.folder != *folder));
    let Some(other) = folders.first() else {
        return Ok(());
    };
    // Of two folders of one name another one was approved.
    let message = format!("the plan uses the skill in {other}, and another folder is locked");
    Err(Failure::new(Exit::Approval, message)
        .hint("remove one of the two, or lock the one that is used: wf skill lock"))
}
