use clap::Args;

use crate::{
    Ui,
    approve::{accept_goal, accept_goals},
    keys::SigningArgs,
};
use wf_app::{
    CliExitCode, CommandError,
    approve::{SigningOptions, SigningRules, awaited_acceptance},
    goals::{GoalSource, find_paths, list_goals_on_disk, wake_daemon},
    load,
};
use wf_base::untrusted::untrusted;
use wf_core::goal::ReconciliationPart;
use wf_sign::approval::ReviewPolicy;

/// Accept a goal as it is; until then the daemon executes nothing of it
#[derive(Args, Debug)]
#[command(after_help = "\
Shows everything that the goal does, and what changed since it was accepted. A goal must be
accepted again after a change to its file, a plan or gate that it uses, a setting of wf.yaml
that its runs depend on, or a program named in its commands. A program is an executable file, a
file that starts with #!, or, in a git repository, any tracked file.

`wf goal run GOAL` in a terminal also accepts the goal, and so does `wf approve GOAL`. With
`wf daemon --branch`, the committed version counts as accepted; with policy `reviewed`, the signed
approval does.")]
pub struct GoalAcceptArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL", required_unless_present = "all", conflicts_with = "all")]
    goal: Option<String>,
    /// Every goal of the workspace that waits for acceptance
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    signing: SigningArgs,
}

/// Accepts goals.
pub fn run(ui: &Ui, args: &GoalAcceptArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    if SigningRules::of(ui, &workspace)?.approvers.policy == ReviewPolicy::Reviewed {
        let message = "goals must be approved here: approvers.yaml sets `policy: reviewed`";
        return Err(CommandError::new(CliExitCode::Usage, message).hint("wf approve GOAL"));
    }
    let paths = find_paths(&ui.host, &workspace, args.goal.as_deref())?;
    let mut awaited = Vec::new();
    for path in paths {
        let files = GoalSource::Disk.files(&workspace);
        let (loaded, goal) =
            load::load_goal(ui, &*files, workspace.clone(), &path, ReconciliationPart::Repair)?;
        if awaited_acceptance(ui, &loaded)?.is_some() {
            awaited.push(loaded);
        } else if !args.all {
            ui.print_info_line(&format!("{} is already accepted", goal.id));
        }
    }
    let signing = args.signing.options(None);
    if args.all {
        for file in list_goals_on_disk(&workspace) {
            if let Err(reason) = &file.goal {
                ui.print_message(&format!("{} is skipped, it is broken: {reason}\n", untrusted(&file.path)));
            }
        }
    }
    match awaited.len() {
        0 if args.all => ui.print_info_line("no goal waits for acceptance"),
        0 => {}
        1 => awaited.into_iter().try_for_each(|loaded| accept_goal(ui, loaded, &signing))?,
        _ => accept_goals(ui, awaited, &signing)?,
    }
    wake_daemon(&workspace.state);
    Ok(CliExitCode::Ok)
}

/// Accepts a goal for the user of a reconciliation of it, and shows it first.
pub(super) fn by_run(ui: &Ui, path: &str) -> Result<(), CommandError> {
    let workspace = ui.host.workspace();
    let files = GoalSource::Disk.files(&workspace);
    let (loaded, _) = load::load_goal(ui, &*files, workspace.clone(), path, ReconciliationPart::Repair)?;
    if awaited_acceptance(ui, &loaded)?.is_some() {
        accept_goal(ui, loaded, &SigningOptions { is_confirmed: true, ..SigningOptions::default() })?;
    }
    Ok(())
}
