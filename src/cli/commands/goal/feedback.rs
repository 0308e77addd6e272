use clap::{Args, ValueEnum};

use super::who;
use crate::bus::Act;
use crate::cli::goals::{by_name, ledger_of};
use crate::cli::{Exit, Failure, RunArg, Ui, watch};
use crate::goal::Opinion;
use crate::name::RunId;
use crate::store::{Feedback, Reader, RepairRow, StoreError};

/// Say what you think of a repair of a goal
#[derive(Args, Debug)]
#[command(
    allow_missing_positional = true,
    after_help = "\
The last word about a repair counts. A repair about which nobody says anything counts as fine, and
one of whose questions was answered with `wf deny` as declined. `wf goal autonomy` tells what
follows.

Examples:
  wf goal feedback nightly corrected --note 'it restarted the wrong service'
  wf goal feedback nightly 1a2b fine"
)]
pub struct FeedbackArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL")]
    goal: String,
    /// The repair, by as much of the id of its run, or of its look, as is unique [default: the latest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// What you think
    #[arg(value_name = "OPINION")]
    opinion: Word,
    /// Why, for the record
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    note: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Word {
    /// You had to correct what it did
    Corrected,
    /// You undid what it did
    Undone,
    /// It was right
    Fine,
}

impl From<Word> for Opinion {
    fn from(word: Word) -> Self {
        match word {
            Word::Corrected => Self::Corrected,
            Word::Undone => Self::Undone,
            Word::Fine => Self::Fine,
        }
    }
}

/// Records what somebody says.
pub fn run(ui: &Ui, args: &FeedbackArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let (ready, goal) = by_name(ui, &args.goal)?;
    let reader = match Reader::open(&workspace.state) {
        Ok(reader) => reader,
        Err(StoreError::NoState(_)) => return Err(usage(args, none(args))),
        Err(error) => return Err(error.into()),
    };
    let repairs = reader.repairs(&goal.id, usize::MAX)?;
    let repair = meant(&reader, args, &repairs)?;
    let (store, _) = ledger_of(ui, &ready)?;
    let who = who(ui);
    let opinion = Opinion::from(args.opinion);
    let said = Feedback {
        run: repair.clone(),
        goal: goal.id.clone(),
        opinion,
        note: args.note.clone(),
        who: who.as_ref().map(|key| key.name.clone()),
        at: ui.env.now(),
    };
    let (short, word) = (repair.short(), opinion.as_str());
    if !store.feedback(said).wait()? {
        ui.note_line(&format!("repair {short} was {word} before"));
        return Ok(Exit::Ok);
    }
    let act = Act::GoalFeedback {
        goal: goal.id.clone(),
        repair: repair.clone(),
        opinion: word.to_owned(),
        key: who.map(|key| key.public.id()),
    };
    watch::note(ui, act);
    ui.note_line(&format!("repair {short} of {} is {word}", goal.id));
    Ok(Exit::Ok)
}

/// The repair that is meant: by its own run, or by that of the look before it.
fn meant(reader: &Reader, args: &FeedbackArgs, repairs: &[RepairRow]) -> Result<RunId, Failure> {
    let Some(run) = &args.run else {
        let latest = repairs.first().map(|repair| repair.run.clone());
        return latest.ok_or_else(|| usage(args, none(args)));
    };
    let run = RunArg::of(run).resolve(reader)?;
    let cycle = reader.cycle(&run)?;
    let repair = cycle.and_then(|cycle| cycle.repair).unwrap_or(run);
    if repairs.iter().any(|row| row.run == repair) {
        return Ok(repair);
    }
    let (short, goal) = (repair.short(), &args.goal);
    Err(usage(args, format!("run {short} is no repair of `{goal}`")))
}

fn none(args: &FeedbackArgs) -> String {
    format!("`{}` has repaired nothing yet", args.goal)
}

fn usage(args: &FeedbackArgs, message: String) -> Failure {
    let hint = format!("`wf goal history {}` tells what it did", args.goal);
    Failure::new(Exit::Usage, message).hint(hint)
}
