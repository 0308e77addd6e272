//! The statement about a run that attests it.

use std::sync::Arc;

use crate::{
    Caller, CliExitCode, CommandError, StateReader, names::attempt_name_from_text,
    specs::load::recorded_plan, state::record::load_record,
};
use wf_base::{
    digest::Sha256Digest,
    name::RunId,
    remedy::{Remedy, UserAction},
};
use wf_core::machine::{Event, StaleFile};
use wf_engine::stale_now;
use wf_model::Plan;
use wf_report::{
    attest::{AttestationInput, AttestationStatement, attestation_statement},
    record::{NestedRunRecord, RunRecord},
};
use wf_store::{RunState, StoreReader, head, verify_chain};

/// Attests a run; `program` is the version of the attesting program.
pub fn attest_run(
    caller: &dyn Caller,
    run: &RunId,
    program: &str,
) -> Result<AttestationStatement, CommandError> {
    let workspace = caller.host().workspace();
    if let Err(broken) = verify_chain(StateReader::open(&workspace)?.store())? {
        let error = CommandError::new(CliExitCode::State, format!("the event log was altered: {broken}"));
        return Err(
            error.hint(Remedy::from("restore a backup with `").action(UserAction::RestoreBackup).text("`"))
        );
    }
    let state = StateReader::from_log(&workspace)?;
    let reader = state.store();
    let record = load_record(reader, run)?;
    require_attestable(reader, &record)?;
    let stored = StoredRunTree::read(caller, reader, &record)?;
    attestation_statement(&stored.attestation_input(&record), program).ok_or_else(|| {
        CommandError::new(CliExitCode::State, format!("the record of run {} is incomplete", run.short()))
    })
}

fn require_attestable(reader: &StoreReader, record: &RunRecord) -> Result<(), CommandError> {
    let row = &record.run;
    let short = row.id.short();
    if let Some((above, attempt)) = &row.parent {
        let attempt = attempt_name_from_text(reader, above, attempt)?;
        let message = format!("run {short} is nested in another run: {attempt} of run {}", above.short());
        let error = CommandError::new(CliExitCode::Usage, message);
        // Only the run at the top is attested, with all that is nested in it.
        let top = record.top.as_ref().unwrap_or(above);
        return Err(error.hint(Remedy::from(UserAction::AttestRun(top.clone())).text(" covers it, too")));
    }
    if row.state == RunState::Running {
        let error = CommandError::new(CliExitCode::Usage, format!("run {short} has not finished"));
        return Err(
            error.remedy("wait until it finishes, or resume it: ", UserAction::ResumeRun(row.id.clone()))
        );
    }
    Ok(())
}

/// The stored record of a run, and of those nested in it.
struct StoredRunTree {
    plan: Arc<Plan>,
    events: Vec<(u64, Event)>,
    sources: Vec<(String, String)>,
    head: Sha256Digest,
    stale: Vec<StaleFile>,
    nested: Vec<(String, StoredRunTree)>,
}

impl StoredRunTree {
    fn read(caller: &dyn Caller, reader: &StoreReader, record: &RunRecord) -> Result<Self, CommandError> {
        let run: &RunId = &record.run.id;
        let nested = record.nested.iter().map(|NestedRunRecord { attempt, record }| {
            Ok((attempt.clone(), Self::read(caller, reader, record)?))
        });
        let (plan, events) = (recorded_plan(caller, reader, run)?, reader.events().of_run(run, 0)?);
        Ok(Self {
            stale: stale_now(reader, &caller.host().workspace().root, &plan, &events)?,
            plan,
            events,
            sources: reader.sources().of_run(run)?,
            head: head(reader, run)?.unwrap_or_else(|| Sha256Digest::of_bytes(b"")),
            nested: nested.collect::<Result<_, CommandError>>()?,
        })
    }

    fn attestation_input<'a>(&'a self, record: &'a RunRecord) -> AttestationInput<'a> {
        let nested = self.nested.iter().zip(&record.nested);
        AttestationInput {
            record,
            plan: &self.plan,
            events: &self.events,
            sources: &self.sources,
            head: self.head,
            stale: self.stale.clone(),
            nested: nested
                .map(|((attempt, stored), nested)| {
                    (attempt.clone(), stored.attestation_input(&nested.record))
                })
                .collect(),
        }
    }
}
