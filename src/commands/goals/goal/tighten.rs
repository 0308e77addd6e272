use clap::Args;

use crate::{Ui, actions::command_text};
use wf_app::{
    CliExitCode, CommandError,
    goals::{GoalTightenOutcome, tighten_goal},
};
use wf_base::name::RunId;

/// Revoke the standing approval of a goal immediately
#[derive(Args, Debug)]
#[command(after_help = "\
No more repairs run under the current approval, or under an earlier one. Revoking needs no
signature. Checks continue to run and to report failures. A repair that has started continues,
too: stop it with `wf cancel RUN`. To allow repairs again, sign a new approval.")]
pub struct GoalTightenArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
}

/// Withdraws an approval.
pub fn run(ui: &Ui, args: &GoalTightenArgs) -> Result<CliExitCode, CommandError> {
    let GoalTightenOutcome { status, continuing_repairs, is_new } = tighten_goal(ui, &args.goal)?;
    let (id, noun) = (&status.goal.id, status.goal.noun());
    match &status.approval {
        Some(Ok(standing)) if is_new == Some(true) => {
            let executions = standing.statement.executions;
            let left = executions.saturating_sub(standing.used);
            ui.print_info_line(&format!(
                "revoked the approval of {id}, with {left} of {executions} {noun}s left"
            ));
        }
        Some(Err(refusal)) => {
            ui.print_info_line(&format!("{id} has no approval to revoke: {refusal}"));
            return Ok(CliExitCode::Ok);
        }
        _ => ui.print_info_line(&format!("the approval of {id} is already revoked")),
    }
    for run in continuing_repairs.iter().map(RunId::short) {
        ui.print_info_line(&format!("{noun} {run} has started; to stop it: wf cancel {run}"));
    }
    if let Some(action) = status.narrower_approval() {
        let command = command_text(&action);
        ui.print_info_line(&format!("to approve less than before: {command}"));
    }
    Ok(CliExitCode::Ok)
}
