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
    Ok(Some(Past::of(reader, ask, &row.params)?))
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
    Ok(outer.nested(reader, &spot.step, key.as_deref(), Some(&row.params))?)
}
