//! The secrets of a run that began before: what it left can show them, and only who knows them can
//! hide them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::exec::secret::Secrets;
use crate::machine::{Approved, Event, Fact};
use crate::model::{Plan, Secret, Work};

use super::begin::block_on;
use super::scope::secrets_read;
use super::{EngineError, Session, evidence};

/// The secrets that a run was given, by its events, as far as they must not be seen: those that its begun
/// steps read, in whatever way they did their work.
pub fn secrets_given(plan: &Plan, events: &[(u64, Event)]) -> Vec<Secret> {
    let begun = events.iter().filter_map(|(_, event)| match &event.fact {
        Fact::AttemptStarted(attempt) | Fact::AttemptStaged(attempt) => {
            plan.find(attempt.place.step.as_str())
        }
        _ => None,
    });
    let begun: BTreeSet<_> = begun.collect();
    let steps = begun.into_iter().map(|ix| plan.step(ix));
    let ways = steps.flat_map(|step| (0..step.ways()).filter_map(|way| step.way(way)));
    let names: BTreeSet<&str> = ways.flat_map(secrets_read).collect();
    let declared = plan.parts().secrets.iter();
    let given = declared.filter(|secret| secret.masked && names.contains(secret.name.as_str()));
    given.cloned().collect()
}

/// The plans that a step of a plan uses, in any way.
pub fn plans_used(plan: &Plan) -> impl Iterator<Item = &Arc<Plan>> {
    let steps = plan.steps().iter();
    let ways = steps.flat_map(|step| (0..step.ways()).filter_map(|way| step.way(way)));
    ways.filter_map(|step| match &step.work {
        Work::Uses(uses) => Some(&uses.plan),
        _ => None,
    })
}

/// Reads secrets, so that every mask of the session hides them. Programs that print some are those that
/// were approved.
pub fn recover(
    session: &Session,
    (plan, approved): (&Arc<Plan>, Option<&Approved>),
    given: Vec<Secret>,
) -> Result<(), EngineError> {
    if given.is_empty() {
        return Ok(());
    }
    let pins = evidence::pins(session, plan, approved);
    if let Some(approved) = approved.filter(|approved| approved.is_in_advance()) {
        evidence::admit(session, plan, approved)?;
    }
    let read = block_on(async {
        for secret in given {
            let name = secret.name.clone();
            let places = (
                session.root.clone(),
                session.store.folder().path().to_path_buf(),
            );
            let host = Arc::clone(&session.host);
            let secrets = Secrets::new(vec![secret], host, places, session.hands.clone())
                .with(session.secrets.clone())
                .pinned(pins.clone());
            secrets.get(&name).await?;
            // Whoever asks what is known tells it to all.
            secrets.known().await;
        }
        Ok(())
    });
    if read.is_err() {
        session.hands.settle();
    }
    read
}
