use crate::cli::Failure;
use crate::goal::{Looked, Repaired};
use crate::machine::{Outcome, Ruling};
use crate::name::RunId;
use crate::store::{CheckRow, Reader, RunState};

/// What a look found, as it is recorded; `None` if it has not ended.
pub fn looked(reader: &Reader, run: &RunId) -> Result<Option<Looked>, Failure> {
    let row = reader.run(run)?;
    let RunState::Ended(outcome) = row.state else {
        return Ok(None);
    };
    let checks = own_checks(reader, run)?;
    let named = |ruling| {
        let ruled = checks.iter().filter(|row| row.verdict.ruling == ruling);
        ruled.map(|row| row.verdict.name.to_string()).collect()
    };
    Ok(Some(Looked {
        holds: outcome == Outcome::Succeeded,
        cancelled: outcome == Outcome::Cancelled,
        refuted: named(Ruling::Fail),
        unable: named(Ruling::Error),
        why: row.why,
    }))
}

/// The rulings on the criteria of the plan itself.
pub fn own_checks(reader: &Reader, run: &RunId) -> Result<Vec<CheckRow>, Failure> {
    let mut checks = reader.checks(run)?;
    checks.retain(|row| row.step.is_none());
    Ok(checks)
}

/// What became of a repair, as it is recorded.
pub fn repaired(reader: &Reader, run: &RunId) -> Result<Repaired, Failure> {
    let row = reader.run(run)?;
    Ok(match row.state {
        RunState::Running => {
            let short = run.short();
            Repaired::Waits(format!("for an answer: wf approve {short}"))
        }
        RunState::Ended(Outcome::Succeeded) => match row.accepted {
            None => Repaired::Done,
            Some(_) => Repaired::Failed("it was accepted, but does not hold in full".into()),
        },
        RunState::Ended(Outcome::Cancelled) => Repaired::Cancelled,
        RunState::Ended(Outcome::Failed | Outcome::Abandoned) => Repaired::Failed(row.why),
    })
}
