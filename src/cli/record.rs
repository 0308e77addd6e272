use super::Failure;
use super::load::before;
use crate::machine::Ledger;
use crate::name::RunId;
use crate::report::record::{Held, Life, Looped, Nested, RECORD_VERSION, Record, Trajectory};
use crate::store::{Reader, RunRow, StoreError};

/// How deep nested runs are read; deeper ones cannot be made.
const DEPTH: usize = 32;

/// Everything that the store knows of a run, and of those nested in it.
pub fn load_record(reader: &Reader, run: &RunId) -> Result<Record, Failure> {
    let mut record = below(reader, run, DEPTH)?;
    record.top = top(reader, &record.run)?;
    if record.is_stale()
        && let Some(plan) = before(reader, run)?
    {
        record.shake(&plan);
    }
    Ok(record)
}

/// The run at the top that a run is part of, however deep; `None`: it is part of none.
pub fn top(reader: &Reader, run: &RunRow) -> Result<Option<RunId>, StoreError> {
    let (mut top, mut above) = (None, run.parent.clone());
    while let Some((run, _)) = above {
        above = reader.run(&run)?.parent;
        top = Some(run);
    }
    Ok(top)
}

fn below(reader: &Reader, run: &RunId, depth: usize) -> Result<Record, Failure> {
    let mut nested = Vec::new();
    if depth > 0 {
        for (child, attempt) in reader.children(run)? {
            let record = below(reader, &child, depth - 1)?;
            nested.push(Nested { attempt, record });
        }
    }
    let checks = reader.checks(run)?;
    let held = reader.facts(run, &Held::EVENTS)?;
    let ledger = Ledger::of(&reader.facts(run, &Ledger::EVENTS)?);
    let (row, owner) = (reader.run(run)?, reader.owner(run)?);
    let record = Record {
        v: RECORD_VERSION,
        life: Life::of(&row, owner),
        top: None,
        run: row,
        repeated_by: reader.repeats(run)?,
        owner,
        steps: reader.steps(run)?,
        attempts: reader.attempts(run)?,
        gaps: Trajectory::all(&checks),
        loops: Looped::all(&reader.facts(run, &Looped::EVENTS)?),
        shaken: Vec::new(),
        checks,
        held: Held::of(&held),
        ledger: ledger.is_worth_telling().then_some(ledger),
        artifacts: reader.artifacts(run)?,
        nested,
    };
    Ok(record.at_rest())
}
