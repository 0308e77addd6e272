use clap::Args;

use super::who;
use crate::bus::{Act, Bound};
use crate::cli::goals::{Leash, by_name, ledger_of, poke};
use crate::cli::{Exit, Failure, Ui, watch};
use crate::store::{Reader, RunState, WithdrawnApproval};

/// Withdraw what is left of the standing approval of a goal, at once
#[derive(Args, Debug)]
#[command(after_help = "\
Nothing more is repaired under the approval that is there, or under one that was signed before it;
it needs no signature to allow less. Looks go on, and tell what is not as desired. A repair that
has begun goes on, too: `wf cancel RUN` stops it. To allow something again, sign a new approval.")]
pub struct TightenArgs {
    /// The goal: its id, or its file
    #[arg(value_name = "GOAL")]
    goal: String,
}

/// Withdraws an approval.
pub fn run(ui: &Ui, args: &TightenArgs) -> Result<Exit, Failure> {
    let workspace = ui.workspace();
    let (ready, goal) = by_name(ui, &args.goal)?;
    let leash = Leash::of(ui, &ready, &goal)?;
    let id = &goal.id;
    let standing = match &leash.approval {
        None => {
            let message = format!(
                "the repairs of {id} need no approval: {} says so",
                ready.path
            );
            let failure = Failure::new(Exit::Usage, message);
            return Err(failure.hint(format!(
                "`wf goal pause {id}` stops its cycles; without `approval: none` its repairs need one"
            )));
        }
        Some(Err(refusal)) => {
            ui.note_line(&format!("{id} may repair nothing by itself: {refusal}"));
            return Ok(Exit::Ok);
        }
        Some(Ok(standing)) => standing,
    };
    let (store, reader) = ledger_of(ui, &ready)?;
    let nonce = standing.statement.nonce.as_str();
    let who = who(ui);
    let name = who.as_ref().map(|key| key.name.clone());
    let withdrawn = WithdrawnApproval {
        nonce: nonce.to_owned(),
        goal: id.clone(),
        who: name,
        since: ui.env.now(),
    };
    if let Some(place) = store.withdraw(withdrawn).wait()? {
        let act = Act::ApprovalWithdrawn {
            goal: id.clone(),
            nonce: nonce.to_owned(),
            key: who.map(|key| key.public.id()),
            db: Some(Bound {
                seq: place.seq,
                hash: place.hash,
            }),
        };
        watch::note(ui, act);
        let all = standing.statement.executions;
        let left = all.saturating_sub(standing.used);
        ui.note_line(&format!(
            "{id} repairs nothing by itself any more: what is left of its approval is withdrawn, {left} of {all}"
        ));
    } else {
        ui.note_line(&format!("the approval of {id} was withdrawn before"));
    }
    goes_on(ui, &reader, &leash)?;
    if let Some(command) = leash.narrower() {
        ui.note_line(&format!("to allow less than before: {command}"));
    }
    poke(&workspace.state);
    Ok(Exit::Ok)
}

/// Tells which repairs have begun and go on.
fn goes_on(ui: &Ui, reader: &Reader, leash: &Leash) -> Result<(), Failure> {
    for repair in reader.repairs(&leash.goal.id, usize::MAX)? {
        if repair.state == RunState::Running {
            let run = repair.run.short();
            ui.note_line(&format!(
                "repair {run} has begun: `wf cancel {run}` stops it"
            ));
        }
    }
    Ok(())
}
