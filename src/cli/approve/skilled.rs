use crate::cli::load::Ready;
use crate::cli::skills::{Held, hold};
use crate::cli::{Exit, Failure, Ui};
use crate::exec::pinned;
use crate::machine::Pin;

/// Refuses to begin a plan unless each skill whose scripts it runs is locked, is what was locked,
/// and is approved. INV-06.
pub(super) fn skills_hold(
    ui: &Ui,
    ready: &Ready,
    pins: &[Pin],
    began: bool,
) -> Result<(), Failure> {
    let plan = ready.goal.as_ref().map_or(&ready.plan, |of| &of.whole);
    let mut folders: Vec<String> = pinned::skills(plan).into_iter().collect();
    let listed = plan.parts().skills.iter().flatten();
    let name = |folder: &String| folder.rsplit('/').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = folders.iter().map(name).collect();
    names.extend(listed.map(ToString::to_string));
    names.sort();
    names.dedup();
    let held = hold(ui, &ready.workspace, &names)?;
    // What is executed is what was looked at here, even if it was another for a moment.
    if let Some((path, is_part)) = held.iter().find_map(|held| other(held, pins)) {
        if !is_part {
            let message = format!("{path} is no part of the skill that is locked");
            return Err(Failure::new(Exit::Approval, message).hint("name a script of the skill"));
        }
        let (since, hint) = if began {
            ("since the run began", "begin anew: wf run")
        } else {
            ("while it was read", "try again")
        };
        let message = format!("{path} was changed {since}");
        return Err(Failure::new(Exit::Approval, message).hint(hint));
    }
    folders.retain(|folder| held.iter().all(|one| one.folder != *folder));
    let Some(other) = folders.first() else {
        return Ok(());
    };
    // Of two folders of one name another one was approved.
    let message = format!("the plan uses the skill in {other}, and another folder is locked");
    Err(Failure::new(Exit::Approval, message)
        .hint("remove one of the two, or lock the one that is used: wf skill lock"))
}

/// A file of a skill that was not pinned as it was locked, and whether it is part of the skill.
fn other<'p>(held: &Held, pins: &'p [Pin]) -> Option<(&'p str, bool)> {
    let below = |pin: &'p Pin| Some((pin, pin.path.strip_prefix(&held.folder)?.strip_prefix('/')?));
    let mut own = pins.iter().filter_map(below);
    let differs = |(pin, path): &(&Pin, &str)| {
        held.files.get(*path).map(|file| file.digest) != Some(pin.digest)
    };
    let found = own.find(differs);
    found.map(|(pin, path)| (pin.path.as_str(), held.files.contains_key(path)))
}
