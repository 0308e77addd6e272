use clap::Args;

use super::author;
use crate::Ui;
use wf_app::goals::{AutonomyStatus, ledger_of, load_by_name, verified_reader, wake_daemon};
use wf_app::{CliExitCode, CommandError, watch};
use wf_store::feed::{LogAnchor, WorkspaceAction};
use wf_store::{RunState, StoreReader, WithdrawnApproval};

/// Revoke the standing approval of a goal immediately
#[derive(Args, Debug)]
#[command(after_help = "\
No more repairs run under the current approval, or under an earlier one. Revoking needs no signature.
Checks continue to run and to report failures. A repair that has started continues, too: stop it with
`wf cancel RUN`. To allow repairs again, sign a new approval.")]
pub struct GoalTightenArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
}

/// Withdraws an approval.
pub fn run(ui: &Ui, args: &GoalTightenArgs) -> Result<CliExitCode, CommandError> {
    let workspace = ui.host.workspace();
    let (ready, goal) = load_by_name(ui, &args.goal)?;
    let leash = AutonomyStatus::of(ui, &ready, &goal, verified_reader(&workspace)?.as_ref())?;
    let id = &goal.id;
    let standing = match &leash.approval {
        None => {
            let message = format!(
                "the {}s of {id} need no approval: {} sets `approval: none`",
                goal.noun(),
                ready.path
            );
            let failure = CommandError::new(CliExitCode::Usage, message);
            return Err(failure.hint(format!(
                "stop them with `wf goal pause {id}`, or require an approval: remove `approval: none`"
            )));
        }
        Some(Err(refusal)) => {
            ui.print_info_line(&format!("{id} has no approval to revoke: {refusal}"));
            return Ok(CliExitCode::Ok);
        }
        Some(Ok(standing)) => standing,
    };
    let (store, reader) = ledger_of(&ui.host, &ready)?;
    let nonce = standing.statement.nonce.as_str();
    let who = author(&ui.host);
    let name = who.as_ref().map(|key| key.name.clone());
    let withdrawn =
        WithdrawnApproval { nonce: nonce.to_owned(), goal: id.clone(), who: name, since: ui.host.now() };
    if let Some(place) = store.withdraw(withdrawn).wait()? {
        let act = WorkspaceAction::ApprovalWithdrawn {
            goal: id.clone(),
            nonce: nonce.to_owned(),
            key: who.map(|key| key.public.id()),
            db: Some(LogAnchor { seq: place.seq, hash: place.hash }),
        };
        watch::record_quietly(ui, act);
        let all = standing.statement.executions;
        let left = all.saturating_sub(standing.used);
        let noun = goal.noun();
        ui.print_info_line(&format!("revoked the approval of {id}, with {left} of {all} {noun}s left"));
    } else {
        ui.print_info_line(&format!("the approval of {id} is already revoked"));
    }
    print_continuing_repairs(ui, &reader, &leash)?;
    if let Some(command) = leash.narrower_command() {
        ui.print_info_line(&format!("to approve less than before: {command}"));
    }
    wake_daemon(&workspace.state);
    Ok(CliExitCode::Ok)
}

/// Prints the repairs that have started and continue.
fn print_continuing_repairs(
    ui: &Ui,
    reader: &StoreReader,
    leash: &AutonomyStatus,
) -> Result<(), CommandError> {
    for repair in reader.repairs(&leash.goal.id, usize::MAX)? {
        if repair.state == RunState::Running {
            let (noun, run) = (leash.goal.noun(), repair.run.short());
            ui.print_info_line(&format!("{noun} {run} has started; to stop it: wf cancel {run}"));
        }
    }
    Ok(())
}
