//! The results of the runs of a goal, read from the store.

use crate::CommandError;
use wf_base::name::RunId;
use wf_core::goal::{CheckRunFindings, ReconciliationRunEnd, RepairOutcome};
use wf_store::{CheckRow, RunState, StoreReader};

/// The recorded end of a run of a reconciliation; `None` if it has not ended.
pub fn run_end(reader: &StoreReader, run: &RunId) -> Result<Option<ReconciliationRunEnd>, CommandError> {
    let row = reader.runs().get(run)?;
    let RunState::Ended(outcome) = row.state else {
        return Ok(None);
    };
    let checks = own_checks(reader, run)?.into_iter().map(|check| check.verdict).collect();
    let (reason, is_accepted) = (row.reason, row.accepted.is_some());
    Ok(Some(ReconciliationRunEnd { outcome, reason, is_accepted, checks }))
}

/// The recorded result of a check run; `None` if it has not ended.
pub fn check_result(reader: &StoreReader, run: &RunId) -> Result<Option<CheckRunFindings>, CommandError> {
    Ok(run_end(reader, run)?.map(|end| end.findings()))
}

/// The recorded checks of the plan itself, without those of its steps.
pub fn own_checks(reader: &StoreReader, run: &RunId) -> Result<Vec<CheckRow>, CommandError> {
    let mut checks = reader.checks().of_run(run)?;
    checks.retain(|row| row.step.is_none());
    Ok(checks)
}

/// The recorded result of a repair.
pub fn repair_result(reader: &StoreReader, run: &RunId) -> Result<RepairOutcome, CommandError> {
    let end = run_end(reader, run)?;
    // On a backend, its requests may be known later than that it waits: this reason stays.
    let waits = || RepairOutcome::Waits(approval_reason(run));
    Ok(end.map_or_else(waits, |end| end.repair_outcome()))
}

/// Returns the reason why a run has not ended: it waits for people, as `waits` says, or its process left it.
pub fn open_reason(reader: &StoreReader, run: &RunId, waits: &str) -> Result<String, CommandError> {
    Ok(if reader.runs().get(run)?.pending_approvals > 0 {
        format!("{waits}{}", approval_reason(run))
    } else {
        format!("run {} has not finished", run.short())
    })
}

fn approval_reason(run: &RunId) -> String {
    format!("for approval: wf approve {}", run.short())
}
