use clap::Args;

use super::update::not_locked;
use crate::cli::revision::Revision;
use crate::cli::skills::consent::{self, SignArgs};
use crate::cli::skills::needs::Terms;
use crate::cli::skills::put::Hold;
use crate::cli::skills::study::study;
use crate::cli::skills::{Wrong, fetch, locks, tell};
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::skill::lock::{LOCK, Lock, Locked, changes};
use crate::spec::Files as _;

/// Read a locked skill in full, and sign for it
#[derive(Args, Debug)]
pub struct ApproveArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    sign: SignArgs,
}

/// Does what is asked.
pub fn run(ui: &Ui, args: &ApproveArgs) -> Result<Exit, Failure> {
    approve(ui, &args.name, &args.sign)
}

/// Shows a skill, asks, and adds a signature.
pub fn approve(ui: &Ui, name: &str, sign: &SignArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let _hold = Hold::take(ui, &workspace)?;
    let mut lock = locks::read(&workspace)?;
    let Some(locked) = lock.skills.get_mut(name) else {
        return Err(not_locked(name));
    };
    let bundle = fetch::read(&workspace.root.join(&locked.folder))?;
    let changed = changes(&locked.files, &bundle);
    if !changed.is_empty() || bundle.digest() != locked.digest {
        return Err(Wrong::Changed(changed).failure(name));
    }
    let studied = study(name, bundle);
    if studied.report_digest() != locked.report {
        let message = format!("the install report of `{name}` is not the one that was locked");
        let hint = format!(
            "this wf has other rules, or somebody changed skills.lock: look at it and lock it anew: wf skill lock {name}"
        );
        return Err(Failure::new(Exit::Approval, message).hint(hint));
    }
    let terms = Terms::locked(locked);
    if terms.refuse(&studied) {
        ui.print(&tell::findings(&studied))?;
        let message = format!("the skill `{name}` is refused: nobody accepted its dangers");
        let hint = format!("who installs it accepts them: wf skill lock {name} --accept RULE:FILE");
        return Err(Failure::new(Exit::Invalid, message).hint(hint));
    }
    let mut text =
        tell::summary(&studied) + &tell::whole(&studied) + "\n" + &tell::findings(&studied);
    if let Some(before) = committed(&workspace, name) {
        text += &tell::differences(&workspace, &before, &studied);
    }
    text += &terms.text();
    ui.print(&text)?;
    let rules = consent::approve(ui, &workspace, (name, locked), sign)?;
    let held = consent::holds(ui, &rules, name, locked);
    locks::write(&workspace, &lock)?;
    ui.print(&match held {
        Ok(_) => format!("approved {name}\n"),
        Err(refusal) => format!("signed {name}; not approved yet: {refusal}\n"),
    })?;
    Ok(Exit::Ok)
}

/// A skill as the last commit locks it: what people approved last.
fn committed(workspace: &Workspace, name: &str) -> Option<Locked> {
    let bytes = Revision::of(workspace, "HEAD").ok()?.read(LOCK).ok()?;
    let mut lock = Lock::parse(&String::from_utf8(bytes).ok()?).ok()?;
    lock.skills.remove(name)
}
