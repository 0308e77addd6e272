use crate::{CommandError, approve::approval_requests};
use wf_base::{name::RunId, time::Moment};
use wf_store::{ReconciliationRow, RunState, StoreError, StoreReader};

/// A reconciliation back from waiting for approvals, to be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumableReconciliation {
    /// The reconciliation, by its first run.
    pub run: RunId,
    /// The number of answers so far: it is not tried twice with the same number.
    pub answers: usize,
}

/// The reconciliations that waited and may be resumed, and the expiry of the next pending approval.
pub fn resumable_reconciliations(
    reader: &StoreReader,
    now: Moment,
) -> Result<(Vec<ResumableReconciliation>, Option<Moment>), CommandError> {
    let (mut reconciliations, mut over): (Vec<ResumableReconciliation>, Option<Moment>) = (Vec::new(), None);
    for cycle in reader.reconciliations().waiting()? {
        let (heard, until) = answers_received(reader, &cycle, now)?;
        over = [over, until].into_iter().flatten().min();
        if heard > 0 {
            let run = cycle.run;
            reconciliations.push(ResumableReconciliation { run, answers: heard });
        }
    }
    Ok((reconciliations, over))
}

/// The number of answers a reconciliation has received, and the time at which a pending
/// approval expires.
fn answers_received(
    reader: &StoreReader,
    row: &ReconciliationRow,
    now: Moment,
) -> Result<(usize, Option<Moment>), StoreError> {
    let run = row.repair.as_ref().unwrap_or(&row.run);
    if reader.runs().get(run)?.state != RunState::Running {
        return Ok((1, None));
    }
    let requests = approval_requests(reader, run)?;
    let (mut heard, mut over) = (0, None);
    let mut is_open = false;
    for open in requests.iter().filter(|request| request.outcome.is_none()) {
        is_open = true;
        heard += reader.approvals().answers(&open.run, open.request.request)?.len();
        if open.request.expires <= now {
            heard += 1;
        } else {
            over = [over, Some(open.request.expires)].into_iter().flatten().min();
        }
    }
    // Earlier answers count, too: an answer to the next request makes a new number.
    let before = requests.iter().filter(|request| request.outcome.is_some()).count();
    Ok(match (heard, is_open) {
        (0, true) => (0, over),
        (heard, _) => (heard + before + 1, over),
    })
}
