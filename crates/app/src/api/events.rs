//! The events of all runs, from any place of the log on: each once, in the order of the log, also for a reader that was away.
//!
//! An event has the place of its row in the log as its id: the number of the row, and the beginning of the digest that chains it
//! to all rows before. A reader that comes back names the last id that it has. If no row has that digest any more, the state was
//! restored from a backup, or begun anew; if rows behind it have lost their content, retention has removed them. Either is
//! said in one sentence, so that the reader reads the runs anew.
//!
//! **Invariant:** an id that was sent is the place of a row that is durable.

use std::{collections::HashMap, fmt, str::FromStr};

use serde::Serialize;

use crate::{Caller, CliExitCode, CommandError, StateReader, names, usage_error, views};
use wf_base::name::{PlanId, RunId};
use wf_report::follow::{EVENT_VERSION, EventLine};
use wf_store::{LogPosition, LogRow, StoreError};

/// The most rows that are read at once.
const MAX_ROWS: usize = 200;

/// The length of the beginning of a digest in an id.
const DIGEST_LENGTH: usize = 16;

/// The place of an event in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventCursor {
    /// The number of its row; 0: before all events.
    seq: u64,
    /// The beginning of the digest of that row.
    digest: String,
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seq == 0 { f.write_str("0") } else { write!(f, "{}-{}", self.seq, self.digest) }
    }
}

impl FromStr for EventCursor {
    type Err = CommandError;

    fn from_str(text: &str) -> Result<Self, CommandError> {
        if text == "0" {
            return Ok(Self::default());
        }
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let parts = text.split_once('-').and_then(|(seq, digest)| {
            let seq = seq.parse::<u64>().ok().filter(|seq| *seq > 0)?;
            (digest.len() == DIGEST_LENGTH && digest.bytes().all(is_digit)).then(|| (seq, digest.to_owned()))
        });
        let refusal = || {
            usage_error(format!("`{text}` is no id of an event"))
                .hint("send the id of the last event that you have; 0 is before all events")
        };
        parts.map(|(seq, digest)| Self { seq, digest }).ok_or_else(refusal)
    }
}

impl EventCursor {
    fn of(position: &LogPosition) -> Self {
        let mut digest = position.hash.to_string();
        digest.truncate(DIGEST_LENGTH);
        Self { seq: position.seq, digest }
    }
}

/// An event of a run, as a line of a followed run has it, with its plan.
#[derive(Clone, Debug, Serialize)]
pub struct ApiEvent {
    /// The id of its place, from which a reader goes on.
    #[serde(skip)]
    pub cursor: EventCursor,
    pub plan: PlanId,
    #[serde(flatten)]
    pub line: EventLine,
}

/// The next events of a feed.
#[derive(Clone, Debug, Default)]
pub struct ApiEventBatch {
    /// The reason why events before these are missing, and the place where these begin.
    pub lost: Option<(String, EventCursor)>,
    pub events: Vec<ApiEvent>,
    /// True if there may be more at once.
    pub has_more: bool,
}

/// The events of a workspace, or of a run and those nested in it.
#[derive(Debug)]
pub struct EventFeed {
    cursor: EventCursor,
    /// The only run; `None`: all.
    only_run: Option<RunId>,
    places: HashMap<RunId, RunPlace>,
    /// True until all earlier rows are read, or the reader knows of a loss: nothing else can have been removed.
    is_behind: bool,
}

/// The place of a run among those that it is nested in.
#[derive(Clone, Debug)]
struct RunPlace {
    outermost: RunId,
    /// The tasks above it, outermost first.
    parents: Vec<String>,
}

/// Opens the events behind a place, or those from now on; `None`: there is no such run. A run is read from its beginning, unless
/// a place is named.
pub fn event_feed(
    caller: &dyn Caller,
    after: Option<&str>,
    run: Option<&str>,
) -> Result<Option<EventFeed>, CommandError> {
    let cursor = after.map(EventCursor::from_str).transpose()?;
    let reader = views::state_reader(caller)?;
    let only_run = match (run, &reader) {
        (None, _) => None,
        (Some(_), None) => return Ok(None),
        (Some(run), Some(reader)) => match views::find_run(reader, run)? {
            Some(run) => Some(run),
            None => return Ok(None),
        },
    };
    let cursor = match (cursor, &reader, &only_run) {
        (Some(cursor), ..) => cursor,
        (None, Some(reader), None) => end_of(reader)?,
        (None, _, Some(_)) | (None, None, None) => EventCursor::default(),
    };
    Ok(Some(EventFeed { cursor, only_run, places: HashMap::new(), is_behind: true }))
}

fn end_of(reader: &StateReader) -> Result<EventCursor, CommandError> {
    let end = reader.store().log().end()?;
    Ok(end.as_ref().map(EventCursor::of).unwrap_or_default())
}

impl EventFeed {
    /// Returns the id behind which it reads on.
    pub fn cursor(&self) -> &EventCursor {
        &self.cursor
    }

    /// Reads the next events; none if nothing was added.
    pub fn next_batch(&mut self, caller: &dyn Caller) -> Result<ApiEventBatch, CommandError> {
        let mut batch = ApiEventBatch::default();
        let Some(reader) = views::state_reader(caller)? else {
            return Ok(batch);
        };
        if !self.is_in_log(&reader)? {
            self.cursor = end_of(&reader)?;
            let reason = "the state was restored or begun anew: read the runs anew, and go on from here";
            batch.lost = Some((reason.to_owned(), self.cursor.clone()));
            return Ok(batch);
        }
        let before = self.cursor.clone();
        let rows = reader.store().log().rows(self.cursor.seq, MAX_ROWS)?;
        batch.has_more = rows.len() == MAX_ROWS;
        let mut has_lost = false;
        for row in rows {
            self.cursor = EventCursor::of(&row.position);
            has_lost |= row.n > 0 && row.run.is_none();
            batch.events.extend(self.event_of(&reader, row)?);
        }
        if has_lost && self.is_behind && self.only_run.is_none() {
            let reason = "retention removed events that you have not read: read the runs anew";
            batch.lost = Some((reason.to_owned(), before));
            self.is_behind = false;
        }
        self.is_behind &= batch.has_more;
        Ok(batch)
    }

    /// True if the place is one of this log.
    fn is_in_log(&self, reader: &StateReader) -> Result<bool, CommandError> {
        if self.cursor.seq == 0 {
            return Ok(true);
        }
        let positions = reader.store().log().positions(self.cursor.seq - 1, 1)?;
        Ok(positions.first().is_some_and(|position| EventCursor::of(position) == self.cursor))
    }

    /// Returns the event of a row; `None`: it has none, or that of a run that is not asked for.
    fn event_of(&mut self, reader: &StateReader, row: LogRow) -> Result<Option<ApiEvent>, CommandError> {
        let (Some(event), Some(run), Some(plan)) = (row.event, row.run, row.plan) else {
            return Ok(None);
        };
        let place = match self.places.get(&run) {
            Some(place) => place.clone(),
            None => match place_of(reader, &run) {
                // It was removed since the row was read.
                Err(StoreError::UnknownRun(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
                Ok(place) => self.places.entry(run.clone()).or_insert(place).clone(),
            },
        };
        let is_wanted = |only: &RunId| *only == run || *only == place.outermost;
        if !self.only_run.as_ref().is_none_or(is_wanted) {
            return Ok(None);
        }
        let line = EventLine { v: EVENT_VERSION, run, parents: place.parents, event };
        Ok(Some(ApiEvent { cursor: self.cursor.clone(), plan, line }))
    }
}

/// Finds the runs that a run is nested in.
fn place_of(reader: &StateReader, run: &RunId) -> Result<RunPlace, StoreError> {
    let (mut outermost, mut parents) = (run.clone(), Vec::new());
    loop {
        let mut row = reader.store().runs().get(&outermost)?;
        names::name_parent(reader.store(), &mut row)?;
        let Some((above, attempt)) = row.parent else {
            return Ok(RunPlace { outermost, parents });
        };
        let task = attempt.rsplit_once('#').map_or(attempt.as_str(), |(task, _)| task);
        parents.insert(0, task.to_owned());
        outermost = above;
    }
}

impl ApiEvent {
    /// Returns the word for its kind, and the event as JSON.
    pub fn kind_and_text(&self) -> Result<(String, String), CommandError> {
        let unwritten = |error: serde_json::Error| CommandError::new(CliExitCode::Bug, error.to_string());
        let document = serde_json::to_value(self).map_err(unwritten)?;
        let kind = document.get("event").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        Ok((kind, document.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::EventCursor;

    #[test]
    fn the_id_of_an_event_is_read_as_it_is_written() {
        for text in ["0", "17-0123456789abcdef"] {
            assert_eq!(text.parse::<EventCursor>().unwrap().to_string(), text);
        }
        for wrong in ["", "17", "-1", "0-0123456789abcdef", "17-0123", "17-0123456789abcdeg", "x"] {
            assert!(wrong.parse::<EventCursor>().is_err(), "{wrong}");
        }
    }
}
