use crate::cli::Failure;
use crate::cli::approve::posed;
use crate::name::RunId;
use crate::store::{CycleRow, Reader, RunState, StoreError};
use crate::time::Moment;

/// A cycle that waited for people, and may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The cycle, by its first run.
    pub run: RunId,
    /// How much was heard so far: what was tried with as much is not tried again.
    pub heard: usize,
}

/// The cycles that waited for people and may go on, and when the time of the next question is over.
pub fn answered(reader: &Reader, now: Moment) -> Result<(Vec<Answered>, Option<Moment>), Failure> {
    let (mut found, mut over): (Vec<Answered>, Option<Moment>) = (Vec::new(), None);
    for cycle in reader.waiting_cycles()? {
        let (heard, until) = heard(reader, &cycle, now)?;
        over = [over, until].into_iter().flatten().min();
        if heard > 0 {
            let run = cycle.run;
            found.push(Answered { run, heard });
        }
    }
    Ok((found, over))
}

/// How much was heard of what a cycle waits for, and when the time of a question is over that
/// nobody answered.
fn heard(
    reader: &Reader,
    cycle: &CycleRow,
    now: Moment,
) -> Result<(usize, Option<Moment>), StoreError> {
    let run = cycle.repair.as_ref().unwrap_or(&cycle.run);
    if reader.run(run)?.state != RunState::Running {
        return Ok((1, None));
    }
    let all = posed(reader, run)?;
    let (mut heard, mut over) = (0, None);
    let mut is_open = false;
    for open in all.iter().filter(|posed| posed.given.is_none()) {
        is_open = true;
        heard += reader.answers(&open.run, open.ask.number)?.len();
        if open.ask.expires <= now {
            heard += 1;
        } else {
            over = [over, Some(open.ask.expires)].into_iter().flatten().min();
        }
    }
    // What was answered before counts, too: an answer to the next question is news.
    let before = all.iter().filter(|posed| posed.given.is_some()).count();
    Ok(match (heard, is_open) {
        (0, true) => (0, over),
        (heard, _) => (heard + before + 1, over),
    })
}
