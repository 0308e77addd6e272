use clap::Args;

use crate::approval::Policy;
use crate::cli::approve::{Acceptance, Rules, accept, waits};
use crate::cli::goals::{Where, all, named, poke};
use crate::cli::{Exit, Failure, Ui, load};
use crate::goal::Part;

/// Accept a goal as it is: until then no daemon executes anything of it
#[derive(Args, Debug)]
#[command(after_help = "\
Shows everything that the goal does, and what changed since it was accepted. A goal waits again once its
file, a plan or a gate that it uses, wf.yaml, or a program that its commands name is changed. A program is
a file that may be executed or begins with #!, and in a git repository every tracked file.

`wf goal run GOAL` at a terminal accepts the goal, too; so does `wf approve GOAL`. With `wf daemon --branch`
what was committed there counts, and by policy `reviewed` the signed approval.")]
pub struct AcceptArgs {
    /// The goal: its id, or its file
    #[arg(
        value_name = "GOAL",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    goal: Option<String>,
    /// Every goal of the workspace that waits
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    how: Acceptance,
}

/// Accepts goals.
pub fn run(ui: &Ui, args: &AcceptArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    if Rules::of(ui, &workspace)?.approvers.policy == Policy::Reviewed {
        let message = "others approve goals here: approvers.yaml says `policy: reviewed`";
        return Err(Failure::new(Exit::Usage, message).hint("wf approve GOAL"));
    }
    let paths = match &args.goal {
        Some(goal) => vec![named(ui, &workspace, &Where::Disk, goal)?],
        None => all(&Where::Disk, &workspace)
            .into_iter()
            .filter(|found| found.goal.is_ok())
            .map(|found| found.path)
            .collect(),
    };
    for path in paths {
        let files = Where::Disk.files(&workspace);
        let (ready, goal) = load::goal(ui, &*files, (workspace.clone(), &path), Part::Repair)?;
        if waits(ui, &ready)?.is_some() {
            accept(ui, (ready, &goal), &args.how)?;
        } else if !args.all {
            ui.note_line(&format!("{} is accepted already", goal.id));
        }
    }
    poke(&workspace.state);
    Ok(Exit::Ok)
}

/// Accepts a goal for a person who asks for a cycle of it, and shows it first.
pub(super) fn by_run(ui: &Ui, path: &str) -> Result<(), Failure> {
    let workspace = ui.workspace();
    let files = Where::Disk.files(&workspace);
    let (ready, goal) = load::goal(ui, &*files, (workspace.clone(), path), Part::Repair)?;
    if waits(ui, &ready)?.is_some() {
        accept(ui, (ready, &goal), &Acceptance::by_run())?;
    }
    Ok(())
}
