use crate::CommandError;
use wf_base::name::RunId;
use wf_core::goal::{CheckRunFindings, RepairOutcome};
use wf_core::machine::{CheckRuling, RunOutcome};
use wf_store::{CheckRow, RunState, StoreReader};

/// The recorded result of a check run; `None` if it has not ended.
pub fn check_result(reader: &StoreReader, run: &RunId) -> Result<Option<CheckRunFindings>, CommandError> {
    let row = reader.run(run)?;
    let RunState::Ended(outcome) = row.state else {
        return Ok(None);
    };
    let checks = own_checks(reader, run)?;
    let named = |ruling| {
        let ruled = checks.iter().filter(|row| row.verdict.ruling == ruling);
        ruled.map(|row| row.verdict.name.to_string()).collect()
    };
    Ok(Some(CheckRunFindings {
        passed: outcome == RunOutcome::Succeeded,
        cancelled: outcome == RunOutcome::Cancelled,
        failed_checks: named(CheckRuling::Fail),
        unchecked: named(CheckRuling::Error),
        reason: row.reason,
    }))
}

/// The rulings on the checks of the plan itself.
pub fn own_checks(reader: &StoreReader, run: &RunId) -> Result<Vec<CheckRow>, CommandError> {
    let mut checks = reader.checks(run)?;
    checks.retain(|row| row.step.is_none());
    Ok(checks)
}

/// The recorded result of a repair.
pub fn repair_result(reader: &StoreReader, run: &RunId) -> Result<RepairOutcome, CommandError> {
    let row = reader.run(run)?;
    Ok(match row.state {
        RunState::Running => {
            let short = run.short();
            RepairOutcome::Waits(format!("for approval: wf approve {short}"))
        }
        RunState::Ended(RunOutcome::Succeeded) => match row.accepted {
            None => RepairOutcome::Done,
            Some(_) => RepairOutcome::Failed("it was accepted although some checks failed".into()),
        },
        RunState::Ended(RunOutcome::Cancelled) => RepairOutcome::Cancelled,
        RunState::Ended(RunOutcome::Failed | RunOutcome::Abandoned) => RepairOutcome::Failed(row.reason),
    })
}
