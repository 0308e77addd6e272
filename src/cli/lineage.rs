//! What a run repeats, found again from what is recorded.

use std::sync::Arc;

use super::{Failure, load};
use crate::model::{Plan, Work};
use crate::name::{RunId, Subject};
use crate::repeat::{Ask, Choice, Past};
use crate::store::{Reader, RunRow};

/// What a run repeats and takes over, by the plan that it was recorded with. `None` if it repeats
/// none.
pub fn past(reader: &Reader, row: &RunRow, now: &Arc<Plan>) -> Result<Option<Past>, Failure> {
    let Some(old) = &row.retry_of else {
        return Ok(None);
    };
    let choice = Choice::recorded(&reader.config(&row.id)?);
    let ask = Ask {
        run: Some(old.clone()),
        before: load::before(reader, old)?,
        now: Arc::clone(now),
        choice,
    };
    let past = Past::of(reader, ask, &row.params)?;
    Ok(Some(as_begun(reader, past, &row.id)?))
}

/// What a run takes over, as it was decided when it began: files may have changed since.
fn as_begun(reader: &Reader, past: Past, run: &RunId) -> Result<Past, Failure> {
    let events = reader.events(run, 0)?;
    Ok(past.as_recorded(events.iter().map(|(_, event)| event)))
}

/// The same for a run that may be nested in another. `None` also where that cannot be told any
/// more.
pub fn past_below(reader: &Reader, run: &RunId) -> Result<Option<Past>, Failure> {
    let row = reader.run(run)?;
    let Some((above, attempt)) = &row.parent else {
        let Some(now) = load::before(reader, run)? else {
            return Ok(None);
        };
        return past(reader, &row, &now);
    };
    let Some(outer) = past_below(reader, above)? else {
        return Ok(None);
    };
    let Ok(subject) = attempt.parse::<Subject>() else {
        return Ok(None);
    };
    let spot = subject.spot;
    let item = spot.item.and_then(|item| item.parse::<u32>().ok());
    let rows = reader.steps(above)?;
    let own = rows
        .into_iter()
        .find(|row| row.step == spot.step && row.item == item);
    let key = own.and_then(|row| row.item_key);
    let uses = outer.plan().find(spot.step.as_str());
    let uses = uses.is_some_and(|ix| matches!(outer.plan().step(ix).work, Work::Uses(_)));
    if !uses {
        return Ok(None);
    }
    let nested = outer.nested(reader, &spot.step, key.as_deref(), Some(&row.params))?;
    let nested = nested.map(|nested| as_begun(reader, nested, run));
    nested.transpose()
}

/// The run that a run is part of in the end; itself, if it is nested in none.
pub fn top(reader: &Reader, run: &RunId) -> Result<RunId, Failure> {
    let mut top = run.clone();
    while let Some((above, _)) = reader.run(&top)?.parent {
        top = above;
    }
    Ok(top)
}
