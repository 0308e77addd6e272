use std::path::Path;

use super::refused::refused;
use super::skilled::skills_hold;
use super::standing::spawned;
use super::{Rules, token_path, tree_again};
use crate::approval::{Policy, Refusal, Subject, Token, allows, check};
use crate::cli::load::Ready;
use crate::cli::{Failure, Ui};
use crate::machine::{Approved, Fact};
use crate::model::Object;
use crate::name::RunId;
use crate::store::Reader;
use crate::time::Moment;

/// Whether a run that began may go on: the approval that began it must still be one. It is not
/// used again, and was in time when the run began; but its signatures must hold, by keys that
/// hold now, and the plan must be the one that was approved. Silas 5.2.1 step 0, `check`.
pub fn go_on(ui: &Ui, reader: &Reader, run: &RunId, ready: &Ready) -> Result<(), Failure> {
    let Some((at, approved)) = recorded(reader, run)? else {
        return Ok(());
    };
    let pinned = [&*approved.pins, &*approved.skills].concat();
    skills_hold(ui, ready, &pinned, true)?;
    let rules = Rules::of(ui, &ready.workspace)?;
    let params = reader.run(run)?.params;
    let told = check_again(ui, reader, (run, ready, &params), (at, &approved, &rules));
    match told? {
        Ok(()) => Ok(()),
        // By this policy whoever resumes a run approves it; the key may be of another machine.
        Err(Refusal::Unlisted(_) | Refusal::Missing(_))
            if rules.approvers.policy == Policy::Owner && approved.pins.is_empty() =>
        {
            Ok(())
        }
        Err(refusal) => Err(refused(ui, &ready.workspace, &ready.path, &refusal)),
    }
}

/// The approval that a run began with, and when.
fn recorded(reader: &Reader, run: &RunId) -> Result<Option<(Moment, Approved)>, Failure> {
    let events = reader.events(run, 0)?;
    let found = events.into_iter().find_map(|(_, event)| match event.fact {
        Fact::RunApproved(approved) => Some((event.at, *approved)),
        _ => None,
    });
    Ok(found)
}

fn check_again(
    ui: &Ui,
    reader: &Reader,
    (run, ready, params): (&RunId, &Ready, &Object),
    (at, approved, rules): (Moment, &Approved, &Rules),
) -> Result<Result<(), Refusal>, Failure> {
    let path = token_path(Path::new(&ready.path)).display().to_string();
    let texts = reader.sources(run)?;
    let Some((_, text)) = texts.into_iter().find(|(name, _)| *name == path) else {
        return Ok(Err(Refusal::Missing(path)));
    };
    let token = match Token::parse(&text) {
        Ok(token) if token.digest() == approved.token => token,
        Ok(_) => return Ok(Err(Refusal::OtherRun(run.clone()))),
        Err(refusal) => return Ok(Err(refusal)),
    };
    // Of a run that signed for itself only the texts are looked at: what it executes may be what
    // it made.
    let files = if approved.is_in_advance() {
        tree_again(ui, ready, params, approved)?.files
    } else {
        token.statement().files.clone()
    };
    let mut approvers = rules.approvers.clone();
    if token.statement().run.is_some() {
        approvers.required = 1;
    }
    let spawned = spawned(ready, &files).filter(|_| token.statement().spawn_policy.is_some());
    let subject = Subject {
        scope: token.statement().scope,
        plan: ready.plan.id(),
        path: &ready.path,
        files: &files,
        params,
        run: Some(run),
        ask: None,
        initiator: approved.initiator,
        spawned: spawned.as_ref(),
        now: at,
    };
    let told = match approved.execution {
        // A look used nothing of it up.
        0 => allows(&token, &subject, &approvers),
        used => check(&token, &subject, &approvers, used),
    };
    Ok(told.map(|_| ()))
}
