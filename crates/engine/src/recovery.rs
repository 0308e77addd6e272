//! The secrets of an earlier run: what it left can show them, and they must be known to be masked.

use std::collections::BTreeSet;
use std::sync::Arc;

use wf_core::machine::{Event, EventKind, RunApproval};
use wf_exec::secret::PlanSecrets;
use wf_model::{Plan, SecretDeclaration, StepWork};

use super::begin::block_on;
use super::scope::secrets_read;
use super::{EngineError, EngineSession, evidence};

/// Returns the secrets that a run was given, by its events, as far as they must be masked: those
/// that its begun steps read, in any alternative.
pub fn secrets_given(plan: &Plan, events: &[(u64, Event)]) -> Vec<SecretDeclaration> {
    let begun = events.iter().filter_map(|(_, event)| match &event.fact {
        EventKind::AttemptStarted(attempt) => plan.find(attempt.place.step.as_str()),
        _ => None,
    });
    let begun: BTreeSet<_> = begun.collect();
    let steps = begun.into_iter().map(|ix| plan.step(ix));
    let ways =
        steps.flat_map(|step| (0..step.alternative_count()).filter_map(|way| step.with_alternative(way)));
    let names: BTreeSet<&str> = ways.flat_map(secrets_read).collect();
    let declared = plan.parts().secrets.iter();
    let given = declared.filter(|secret| secret.masked && names.contains(secret.name.as_str()));
    given.cloned().collect()
}

/// Returns the plans that a step of a plan uses, in any alternative.
pub fn plans_used(plan: &Plan) -> impl Iterator<Item = &Arc<Plan>> {
    let steps = plan.steps().iter();
    let ways =
        steps.flat_map(|step| (0..step.alternative_count()).filter_map(|way| step.with_alternative(way)));
    ways.filter_map(|step| match &step.work {
        StepWork::Uses(uses) => Some(&uses.plan),
        _ => None,
    })
}

/// Reads secrets, so that every mask of the session hides them. Only approved programs that print
/// secrets are run.
pub fn recover(
    session: &EngineSession,
    plan: &Arc<Plan>,
    approved: Option<&RunApproval>,
    given: Vec<SecretDeclaration>,
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
            let (state, executor) = (session.store.folder().path(), session.executor.clone());
            let host = Arc::clone(&session.host);
            let secrets = PlanSecrets::new(vec![secret], host, &session.root, state, executor)
                .with(session.secrets.clone())
                .pinned(pins.clone());
            secrets.get(&name).await?;
            // This makes all known secrets known to the session.
            secrets.known().await;
        }
        Ok(())
    });
    if read.is_err() {
        session.executor.confirm_recorded();
    }
    read
}
