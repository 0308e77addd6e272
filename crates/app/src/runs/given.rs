//! The inputs of an earlier engine the next one must know, too: secrets and approvals.

use std::sync::Arc;

use crate::{CliExitCode, CommandError, specs::load};
use wf_base::name::RunId;
use wf_core::machine::{EventKind, RunApproval};
use wf_engine::GivenSecrets;
use wf_exec::secret::record;
use wf_model::{Plan, SecretDeclaration};
use wf_store::StoreReader;

/// The secrets a run was given, those nested in it, and those it repeats: any of them may
/// occur in their results.
pub fn secrets_of_run(
    reader: &StoreReader,
    run: &RunId,
    plan: &Arc<Plan>,
) -> Result<GivenSecrets, CommandError> {
    let mut secrets = GivenSecrets::default();
    collect_from_run(reader, run, plan, &mut secrets)?;
    let mut before = reader.runs().get(run)?.retry_of;
    // Deleted runs, and those of another version, are skipped.
    while let Some(old) = before
        && let Some(plan) = load::recorded_plan_if_valid(reader, &old)?
    {
        collect_from_run(reader, &old, &plan, &mut secrets)?;
        before = reader.runs().get(&old)?.retry_of;
    }
    Ok(secrets)
}

fn collect_from_run(
    reader: &StoreReader,
    run: &RunId,
    plan: &Arc<Plan>,
    secrets: &mut GivenSecrets,
) -> Result<(), CommandError> {
    for secret in wf_engine::secrets_given(plan, &reader.events().of_run(run, 0)?) {
        let same = |other_secret: &SecretDeclaration| {
            other_secret.name == secret.name && other_secret.source == secret.source
        };
        if !secrets.declared.iter().any(same) {
            secrets.declared.push(secret);
        }
    }
    let recorded = record::read_fingerprints(&reader.folder().run(run)).map_err(|error| {
        let failure = format!("cannot read which secrets run {} was given: {error}", run.short());
        CommandError::new(CliExitCode::State, failure)
    })?;
    secrets.fingerprints.extend(recorded);
    collect_from_children(reader, run, plan, secrets)
}

fn collect_from_children(
    reader: &StoreReader,
    run: &RunId,
    plan: &Arc<Plan>,
    secrets: &mut GivenSecrets,
) -> Result<(), CommandError> {
    for (child, _) in reader.runs().children(run)? {
        let id = reader.runs().get(&child)?.plan;
        match plan.plans_used().find(|used| used.id().as_str() == id) {
            Some(used) => collect_from_run(reader, &child, used, secrets)?,
            // A generated plan has no secrets; the plans that it uses are those of its envelope.
            None => collect_from_children(reader, &child, plan, secrets)?,
        }
    }
    Ok(())
}

/// The approval a run started with, if it needed one.
pub fn approval_of_run(reader: &StoreReader, run: &RunId) -> Result<Option<RunApproval>, CommandError> {
    let events = reader.events().of_run(run, 0)?;
    let approved = events.into_iter().find_map(|(_, event)| match event.fact {
        EventKind::RunApproved(approved) => Some(*approved),
        _ => None,
    });
    Ok(approved)
}
