use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    goals::{pause_goal, resume_goal},
};

/// Pause a goal; times that are due meanwhile are skipped
#[derive(Args, Debug)]
pub struct GoalPauseArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Reason, for the record
    #[arg(long, value_name = "TEXT", default_value = "paused manually")]
    reason: String,
}

/// Resume a paused goal at its next scheduled time, without catching up
#[derive(Args, Debug)]
pub struct GoalResumeArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
}

/// Pauses a goal.
pub fn pause(ui: &Ui, args: &GoalPauseArgs) -> Result<CliExitCode, CommandError> {
    let paused = pause_goal(ui, &args.goal, &args.reason)?;
    let already = if paused.is_new { "" } else { "already " };
    ui.print_info_line(&format!("{} is {already}paused", paused.goal));
    Ok(CliExitCode::Ok)
}

/// Ends the pause of a goal.
pub fn resume(ui: &Ui, args: &GoalResumeArgs) -> Result<CliExitCode, CommandError> {
    let resumed = resume_goal(ui, &args.goal)?;
    if resumed.was_paused {
        let next = resumed.next.map_or("never".to_owned(), wf_base::time::Moment::to_second);
        ui.print_info_line(&format!("{} is resumed · next {next}", resumed.goal));
    } else {
        ui.print_info_line(&format!("{} is not paused", resumed.goal));
    }
    Ok(CliExitCode::Ok)
}
