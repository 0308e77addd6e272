//! The secrets of an earlier run: what it left can show them, and they must be known to be masked.

use std::{collections::BTreeSet, sync::Arc};

use wf_base::redact::SecretFingerprint;
use wf_core::machine::{Event, EventKind, RunApproval};
use wf_exec::secret::PlanSecrets;
use wf_model::{Plan, SecretDeclaration, Step};

use crate::{
    files::view,
    run::scope::secrets_read,
    session::{EngineError, EngineSession, waiting::block_on},
};

/// Returns the secrets a run was given, by its events, as far as they must be masked: those its begun steps read, in
/// any alternative.
pub fn secrets_given(plan: &Plan, events: &[(u64, Event)]) -> Vec<SecretDeclaration> {
    let begun = events.iter().filter_map(|(_, event)| match &event.fact {
        EventKind::AttemptStarted(attempt) => plan.find(attempt.task_id.step.as_str()),
        _ => None,
    });
    let begun: BTreeSet<_> = begun.collect();
    let steps = begun.into_iter().map(|ix| plan.step(ix));
    let names: BTreeSet<&str> = steps.flat_map(Step::ways).flat_map(secrets_read).collect();
    let declared = plan.parts().secrets.iter();
    let masked = declared.filter(|secret| secret.masked && names.contains(secret.name.as_str()));
    masked.cloned().collect()
}

/// The secrets of earlier steps.
#[derive(Clone, Debug, Default)]
pub struct GivenSecrets {
    pub declared: Vec<SecretDeclaration>,
    /// The traces of the values they had then.
    pub fingerprints: Vec<SecretFingerprint>,
}

/// Reads secrets, so every mask of the session hides them, and also the values they had then. Only approved programs
/// printing secrets are run.
pub fn recover(
    session: &EngineSession,
    plan: &Arc<Plan>,
    approved: Option<&RunApproval>,
    given: GivenSecrets,
) -> Result<(), EngineError> {
    let GivenSecrets { declared, fingerprints } = given;
    if declared.is_empty() {
        return Ok(());
    }
    let pins = view::pins(session, plan, approved);
    if let Some(approved) = approved.filter(|approved| approved.is_in_advance()) {
        view::admit(session, plan, approved)?;
    }
    let read = block_on(async {
        for secret in declared {
            let name = secret.name.clone();
            let (state, executor) = (session.store.folder().path(), session.executor.clone());
            let host = Arc::clone(&session.host);
            let secrets = PlanSecrets::new(vec![secret], host, &session.root, state, executor)
                .with(session.shared.redactions.clone())
                .pinned(pins.clone());
            secrets.get_secret(&name).await?;
            // This makes all known secrets known to the session.
            secrets.known().await;
        }
        Ok(())
    });
    if read.is_err() {
        session.executor.confirm_recorded();
    }
    for fingerprint in fingerprints {
        session.shared.redactions.remember(fingerprint);
    }
    read
}
