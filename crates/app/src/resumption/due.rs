use super::{RunWait, wait::is_manual};
use crate::{Caller, CommandError, approve::SigningRules};
use wf_base::{name::RunId, time::Moment};
use wf_store::{RunFilter, RunRow, RunState, StoreReader};

/// A resumable run nobody works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRun {
    pub run: RunId,
    /// The number of its events and answers.
    pub mark: usize,
}

/// Returns the runs that can go on and that nobody works on, and the time at which the next one can. Runs of goals are for
/// their reconciliations. `log` reads the log.
pub fn find_due_runs(
    caller: &dyn Caller,
    log_reader: &StoreReader,
    now: Moment,
) -> Result<(Vec<DueRun>, Option<Moment>), CommandError> {
    let workspace = caller.host().workspace();
    // What is due is decided by the log; this is the list of what to look at.
    let reader = StoreReader::open(&workspace.state)?;
    let filter = RunFilter { state: Some(RunState::Running), ..RunFilter::default() };
    let rows = reader.runs().list(usize::MAX, &filter)?.into_iter().filter(|row| is_idle(&reader, row));
    let runs: Vec<RunRow> = rows.collect();
    let (mut due, mut next) = (Vec::new(), None::<Moment>);
    if runs.is_empty() {
        return Ok((due, next));
    }
    let rules = SigningRules::of(caller, &workspace)?;
    for row in runs {
        // A run whose record cannot be read holds up no other.
        let Ok(wait) = RunWait::of(log_reader, &rules, &row.id, now) else { continue };
        if (wait.is_due || wait.next.is_some()) && is_manual(log_reader, &row.id).unwrap_or(true) {
            continue;
        }
        if wait.is_due {
            due.push(DueRun { run: row.id, mark: wait.mark });
        } else {
            next = [next, wait.next].into_iter().flatten().min();
        }
    }
    Ok((due, next))
}

/// True if nobody works on a run, and somebody may.
fn is_idle(reader: &StoreReader, row: &RunRow) -> bool {
    let is_free =
        || matches!(reader.leases().owner(&row.id), Ok(owner) if !owner.is_some_and(|owner| owner.alive));
    let may_go_on = || match &row.session {
        None => true,
        Some(name) => reader.sessions().get(name).is_ok_and(|session| session.require_active().is_ok()),
    };
    row.goal.is_none() && is_free() && may_go_on()
}
