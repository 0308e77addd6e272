use clap::{Args, ValueEnum};

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    goals::{RecordedOpinion, RepairOpinionRequest, record_opinion},
};
use wf_core::goal::RepairOpinion;

/// Give feedback on a repair of a goal
#[derive(Args, Debug)]
#[command(
    allow_missing_positional = true,
    after_help = "\
The latest feedback on a repair counts. A repair without feedback counts as fine; one with an
approval that was rejected by `wf deny` counts as declined. `wf goal autonomy` shows the effect.

Examples:
  wf goal feedback nightly corrected --note 'it restarted the wrong service'
  wf goal feedback nightly 1a2b fine"
)]
pub struct GoalFeedbackArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Repair, by the ID of its run or of its check run, or a unique prefix [default: the latest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Verdict on the repair
    #[arg(value_name = "OPINION")]
    opinion: FeedbackArg,
    /// Reason, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FeedbackArg {
    /// You had to correct its result
    Corrected,
    /// You undid its result
    Undone,
    /// Its result was right
    Fine,
}

impl From<FeedbackArg> for RepairOpinion {
    fn from(feedback: FeedbackArg) -> Self {
        match feedback {
            FeedbackArg::Corrected => Self::Corrected,
            FeedbackArg::Undone => Self::Undone,
            FeedbackArg::Fine => Self::Fine,
        }
    }
}

/// Records the feedback of a user.
pub fn run(ui: &Ui, args: &GoalFeedbackArgs) -> Result<CliExitCode, CommandError> {
    let opinion = RepairOpinion::from(args.opinion);
    let request =
        RepairOpinionRequest { goal: &args.goal, run: args.run.as_deref(), opinion, note: &args.note };
    let RecordedOpinion { goal, repair, is_new } = record_opinion(ui, &request)?;
    let (noun, short, word) = (goal.noun(), repair.short(), opinion.as_str());
    if is_new {
        ui.print_info_line(&format!("{noun} {short} of {} is {word}", goal.id));
    } else {
        ui.print_info_line(&format!("{noun} {short} is already {word}"));
    }
    Ok(CliExitCode::Ok)
}
