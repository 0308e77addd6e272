use clap::Args;

use super::author;
use crate::Ui;
use wf_app::goals::{ledger_of, load_by_name, wake_daemon, with_recorded_schedule};
use wf_app::{CliExitCode, CommandError, watch};
use wf_core::goal::{GoalLedger, paused_until, turn};
use wf_store::feed::WorkspaceAction;

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
    let workspace = ui.host.workspace();
    let (ready, goal) = load_by_name(ui, &args.goal)?;
    let (store, reader) = ledger_of(&ui.host, &ready)?;
    let goal = with_recorded_schedule(&goal, &reader)?;
    let now = ui.host.now();
    // Times due before the pause are accounted for as such.
    turn(&goal, &mut ledger(&store, &reader), now)?;
    if store.pause_goal(&goal.id, &args.reason, now).wait()? {
        let act = WorkspaceAction::GoalPaused {
            goal: goal.id.clone(),
            key: author(&ui.host).map(|key| key.public.id()),
        };
        watch::record_quietly(ui, act);
        ui.print_info_line(&format!("{} is paused", goal.id));
    } else {
        ui.print_info_line(&format!("{} is already paused", goal.id));
    }
    wake_daemon(&workspace.state);
    Ok(CliExitCode::Ok)
}

/// Ends the pause of a goal.
pub fn resume(ui: &Ui, args: &GoalResumeArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let (ready, goal) = load_by_name(ui, &args.goal)?;
    let (store, reader) = ledger_of(&ui.host, &ready)?;
    let goal = with_recorded_schedule(&goal, &reader)?;
    let now = ui.host.now();
    let mut ledger = ledger(&store, &reader);
    let decision = loop {
        let known = ledger.known(&goal.id)?;
        let Some(known) = known.filter(|known| known.paused.is_some()) else {
            ui.print_info_line(&format!("{} is not paused", goal.id));
            return Ok(CliExitCode::Ok);
        };
        let decision = paused_until(&goal, &known, now);
        // A daemon may have decided meanwhile.
        if ledger.record(&goal, Some(known.decided_until), &decision, now)? {
            break decision;
        }
    };
    store.resume_goal(&goal.id, now).wait()?;
    let act = WorkspaceAction::GoalResumed {
        goal: goal.id.clone(),
        key: author(&ui.host).map(|key| key.public.id()),
    };
    watch::record_quietly(ui, act);
    let next = goal.timing.next(decision.decided_until);
    let next = next.map_or("never".to_owned(), |slot| slot.at.to_second());
    ui.print_info_line(&format!("{} is resumed · next {next}", goal.id));
    wake_daemon(&workspace.state);
    Ok(CliExitCode::Ok)
}

fn ledger<'a>(
    store: &'a wf_store::Store,
    reader: &'a wf_store::StoreReader,
) -> wf_app::goals::StoreLedger<'a> {
    let token = None;
    wf_app::goals::StoreLedger { store, reader, token }
}
