use clap::{Args, ValueEnum};

use super::author;
use crate::{RunArg, Ui};
use wf_app::goals::{ledger_of, load_by_name};
use wf_app::{CliExitCode, CommandError, watch};
use wf_base::name::RunId;
use wf_core::goal::RepairOpinion;
use wf_model::Goal;
use wf_store::feed::WorkspaceAction;
use wf_store::{RepairFeedback, RepairRow, StoreReader, allow_no_state};

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
    fn from(word: FeedbackArg) -> Self {
        match word {
            FeedbackArg::Corrected => Self::Corrected,
            FeedbackArg::Undone => Self::Undone,
            FeedbackArg::Fine => Self::Fine,
        }
    }
}

/// Records the feedback of a user.
pub fn run(ui: &Ui, args: &GoalFeedbackArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let (loaded, goal) = load_by_name(ui, &args.goal)?;
    let Some(reader) = allow_no_state(StoreReader::open(&workspace.state))? else {
        return Err(usage(args, no_repair(&goal)));
    };
    let repairs = reader.repairs(&goal.id, usize::MAX)?;
    let repair = find_repair(&reader, args, &goal, &repairs)?;
    let (store, _) = ledger_of(&ui.host, &loaded)?;
    let who = author(&ui.host);
    let opinion = RepairOpinion::from(args.opinion);
    let said = RepairFeedback {
        run: repair.clone(),
        goal: goal.id.clone(),
        opinion,
        note: args.note.clone(),
        who: who.as_ref().map(|key| key.name.clone()),
        at: ui.host.now(),
    };
    let (noun, short, word) = (goal.noun(), repair.short(), opinion.as_str());
    if !store.feedback(said).wait()? {
        ui.print_info_line(&format!("{noun} {short} is already {word}"));
        return Ok(CliExitCode::Ok);
    }
    let act = WorkspaceAction::GoalFeedback {
        goal: goal.id.clone(),
        repair: repair.clone(),
        opinion: word.to_owned(),
        key: who.map(|key| key.public.id()),
    };
    watch::record_quietly(ui, act);
    ui.print_info_line(&format!("{noun} {short} of {} is {word}", goal.id));
    Ok(CliExitCode::Ok)
}

/// Returns the repair that is meant: by its own run, or by that of the check run before it.
fn find_repair(
    reader: &StoreReader,
    args: &GoalFeedbackArgs,
    goal: &Goal,
    repairs: &[RepairRow],
) -> Result<RunId, CommandError> {
    let Some(run) = &args.run else {
        let latest = repairs.first().map(|repair| repair.run.clone());
        return latest.ok_or_else(|| usage(args, no_repair(goal)));
    };
    let run = RunArg::by_name(run).resolve(reader)?;
    let cycle = reader.cycle(&run)?;
    let repair = cycle.and_then(|cycle| cycle.repair).unwrap_or(run);
    if repairs.iter().any(|row| row.run == repair) {
        return Ok(repair);
    }
    let (short, noun) = (repair.short(), goal.noun());
    Err(usage(args, format!("run {short} is not a {noun} of `{}`", goal.id)))
}

fn no_repair(goal: &Goal) -> String {
    format!("`{}` has no {}s yet", goal.id, goal.noun())
}

fn usage(args: &GoalFeedbackArgs, message: String) -> CommandError {
    let hint = format!("for its runs: wf goal history {}", args.goal);
    CommandError::new(CliExitCode::Usage, message).hint(hint)
}
