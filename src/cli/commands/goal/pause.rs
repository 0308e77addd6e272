use clap::Args;

use super::who;
use crate::bus::Act;
use crate::cli::goals::{as_kept, by_name, ledger_of, poke};
use crate::cli::{Exit, Failure, Ui, watch};
use crate::goal::{Ledger, paused_until, turn};

/// Pause a goal: what is due meanwhile is skipped
#[derive(Args, Debug)]
pub struct PauseArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "somebody paused it")]
    reason: String,
}

/// End the pause of a goal: it goes on with its next slot, and nothing is made up for
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL")]
    goal: String,
}

/// Pauses a goal.
pub fn pause(ui: &Ui, args: &PauseArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let (ready, goal) = by_name(ui, &args.goal)?;
    let (store, reader) = ledger_of(ui, &ready)?;
    let goal = as_kept(&goal, &reader)?;
    let now = ui.env.now();
    // What was due before the pause is accounted for as what it was.
    turn(&goal, &mut ledger(&store, &reader), now)?;
    if store.pause_goal(&goal.id, &args.reason, now).wait()? {
        let act = Act::GoalPaused {
            goal: goal.id.clone(),
            key: who(ui).map(|key| key.public.id()),
        };
        watch::note(ui, act);
        ui.note_line(&format!("{} is paused", goal.id));
    } else {
        ui.note_line(&format!("{} was paused before", goal.id));
    }
    poke(&workspace.state);
    Ok(Exit::Ok)
}

/// Ends the pause of a goal.
pub fn resume(ui: &Ui, args: &ResumeArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let (ready, goal) = by_name(ui, &args.goal)?;
    let (store, reader) = ledger_of(ui, &ready)?;
    let goal = as_kept(&goal, &reader)?;
    let now = ui.env.now();
    let mut ledger = ledger(&store, &reader);
    let decision = loop {
        let known = ledger.known(&goal.id)?;
        let Some(known) = known.filter(|known| known.paused.is_some()) else {
            ui.note_line(&format!("{} is not paused", goal.id));
            return Ok(Exit::Ok);
        };
        let decision = paused_until(&goal, &known, now);
        // A daemon may have decided meanwhile.
        if ledger.record(&goal, Some(known.decided), &decision, now)? {
            break decision;
        }
    };
    store.resume_goal(&goal.id, now).wait()?;
    let act = Act::GoalResumed {
        goal: goal.id.clone(),
        key: who(ui).map(|key| key.public.id()),
    };
    watch::note(ui, act);
    let next = goal.timing.next(decision.decided);
    let next = next.map_or("never again".to_owned(), |slot| slot.at.to_second());
    ui.note_line(&format!("{} goes on · next {next}", goal.id));
    poke(&workspace.state);
    Ok(Exit::Ok)
}

fn ledger<'a>(
    store: &'a crate::store::Store,
    reader: &'a crate::store::Reader,
) -> crate::cli::goals::StoreLedger<'a> {
    let token = None;
    crate::cli::goals::StoreLedger {
        store,
        reader,
        token,
    }
}
