//! What an earlier engine gave to a run and this one must know, too: its secrets.

use std::sync::Arc;

use super::{Failure, load};
use crate::engine;
use crate::machine::{Approved, Fact};
use crate::model::{Plan, Secret};
use crate::name::RunId;
use crate::store::Reader;

/// The secrets that a run was given, those nested in it, and those that it repeats: any of them may stand in
/// what they left.
pub fn secrets_given(
    reader: &Reader,
    run: &RunId,
    plan: &Arc<Plan>,
) -> Result<Vec<Secret>, Failure> {
    let mut given = Vec::new();
    of_run(reader, (run, plan), &mut given)?;
    let mut before = reader.run(run)?.retry_of;
    // What was forgotten, or was recorded by another version, says no more.
    while let Some(old) = before
        && let Some(plan) = load::before(reader, &old)?
    {
        of_run(reader, (&old, &plan), &mut given)?;
        before = reader.run(&old)?.retry_of;
    }
    Ok(given)
}

fn of_run(
    reader: &Reader,
    (run, plan): (&RunId, &Arc<Plan>),
    given: &mut Vec<Secret>,
) -> Result<(), Failure> {
    for secret in engine::secrets_given(plan, &reader.events(run, 0)?) {
        let same = |other: &Secret| other.name == secret.name && other.source == secret.source;
        if !given.iter().any(same) {
            given.push(secret);
        }
    }
    for (child, _) in reader.children(run)? {
        let id = reader.run(&child)?.plan;
        if let Some(used) = engine::plans_used(plan).find(|used| used.id().as_str() == id) {
            of_run(reader, (&child, used), given)?;
        }
    }
    Ok(())
}

/// The approval that a run began with, if it needed one.
pub fn approval(reader: &Reader, run: &RunId) -> Result<Option<Approved>, Failure> {
    let events = reader.events(run, 0)?;
    let approved = events.into_iter().find_map(|(_, event)| match event.fact {
        Fact::RunApproved(approved) => Some(*approved),
        _ => None,
    });
    Ok(approved)
}
