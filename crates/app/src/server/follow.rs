//! A run elsewhere, or the output of an attempt, followed until it ends: events and bytes come in order, each once, also after the
//! connection was lost.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::ServerClient;
use crate::{CliExitCode, CommandError};
use wf_base::name::{PlanId, RunId};
use wf_core::{
    machine::{Event, EventKind, RunOutcome},
    observe::RunRef,
};

/// The time without an event after which the run is looked at: it may wait for people.
const QUIET: Duration = Duration::from_secs(1);

/// The pause before a lost connection is opened again, and the number of times in a row.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_LOSSES: u32 = 10;

/// The largest event, in bytes.
const MAX_EVENT: usize = 16 * 1024 * 1024;

/// An event of a run elsewhere.
pub struct FollowedLine<'a> {
    /// The event as the server wrote it.
    pub text: &'a str,
    /// The same as this version reads it; `None`: it is of a later one.
    pub event: Option<FollowedEvent>,
}

/// An event with its run.
#[derive(Deserialize)]
pub struct FollowedEvent {
    run: RunId,
    plan: PlanId,
    parents: Vec<String>,
    #[serde(flatten)]
    pub event: Event,
}

/// The end of following a run.
#[derive(Clone, Debug, PartialEq)]
pub enum FollowEnd {
    Ended(RunOutcome),
    /// Nothing is left to do before people answer.
    Waiting,
}

impl FollowedEvent {
    /// Returns the run of the event, as an observer knows it.
    pub fn run_ref(&self) -> RunRef {
        RunRef { id: self.run.clone(), plan: self.plan.clone(), path: self.parents.clone() }
    }
}

/// Passes on the events of a run from its beginning, until it ends, or waits for people unless `is_patient`.
pub fn follow_run(
    client: &ServerClient,
    run: &RunId,
    is_patient: bool,
    show: &mut dyn FnMut(FollowedLine<'_>) -> Result<(), CommandError>,
) -> Result<FollowEnd, CommandError> {
    let path = format!("/events?run={run}");
    let (mut after, mut losses) = (String::new(), 0);
    loop {
        let followed = client.events(&path, &after).and_then(|mut answer| {
            let mut events = EventReader::default();
            loop {
                match client.next_part(&mut answer, Some(QUIET))? {
                    None => return Ok(None),
                    Some(part) if part.is_empty() => {
                        if !is_patient && waits(client, run)? {
                            return Ok(Some(FollowEnd::Waiting));
                        }
                    }
                    Some(part) => events.push(&part),
                }
                if events.size() > MAX_EVENT {
                    return Err(client.is_other("an event is too large"));
                }
                while let Some(sent) = events.next_event() {
                    losses = 0;
                    after = sent.id;
                    let event: Option<FollowedEvent> = serde_json::from_str(&sent.data).ok();
                    let end = event.as_ref().and_then(|event| end_of(event, run));
                    show(FollowedLine { text: &sent.data, event })?;
                    if let Some(outcome) = end {
                        return Ok(Some(FollowEnd::Ended(outcome)));
                    }
                }
            }
        });
        losses += 1;
        match followed {
            Ok(Some(end)) => return Ok(end),
            // A refusal stays one: the key has ended, or the run is gone.
            Err(error) if error.exit != CliExitCode::State => return Err(error),
            Ok(None) | Err(_) if losses < MAX_LOSSES && !after.is_empty() => std::thread::sleep(PAUSE),
            Ok(None) => {
                return Err(CommandError::new(CliExitCode::State, "the server ended the stream of events"));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Passes on the output of an attempt until that ends, each byte once, also after the connection was lost. `path` is that of its log.
pub fn follow_output(
    client: &ServerClient,
    path: &str,
    attempt: u32,
    write: &mut dyn FnMut(&[u8]) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let (mut offset, mut losses) = (0, 0);
    loop {
        let rest = format!("{path}.txt?attempt={attempt}&follow=true&offset={offset}");
        let sent = client.download(&rest, &mut |bytes| {
            (offset, losses) = (offset + bytes.len(), 0);
            write(bytes)
        });
        // A server that is stopped ends the answer, too.
        let is_whole = sent.and_then(|()| {
            let document: Value = client.document(&format!("{path}?attempt={attempt}&count=1"))?;
            Ok(document["is_whole"] == true)
        });
        losses += 1;
        match is_whole {
            Ok(true) => return Ok(()),
            Err(error) if error.exit != CliExitCode::State => return Err(error),
            Ok(false) | Err(_) if losses < MAX_LOSSES => std::thread::sleep(PAUSE),
            Ok(false) => {
                let message = "the server ended the output before its attempt had ended";
                return Err(CommandError::new(CliExitCode::State, message));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns the outcome in an event, if it ends the run.
fn end_of(event: &FollowedEvent, run: &RunId) -> Option<RunOutcome> {
    match &event.event.fact {
        EventKind::RunEnded { outcome, .. } if event.run == *run => Some(*outcome),
        _ => None,
    }
}

/// True if nothing is left to do in a run before people answer.
fn waits(client: &ServerClient, run: &RunId) -> Result<bool, CommandError> {
    let document: Value = client.document(&format!("/runs/{run}"))?;
    Ok(document["state"] == "waiting")
}

/// An event as it was sent.
#[derive(Debug, Default, PartialEq, Eq)]
struct SentEvent {
    id: String,
    data: String,
}

/// Reads the events of a stream from its parts.
#[derive(Debug, Default)]
struct EventReader {
    bytes: Vec<u8>,
    event: SentEvent,
}

impl EventReader {
    fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// Returns the number of bytes of the incomplete event.
    fn size(&self) -> usize {
        self.bytes.len() + self.event.data.len()
    }

    /// Returns the next event that is complete. What is a comment, and what has no data, is none.
    fn next_event(&mut self) -> Option<SentEvent> {
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if !event.data.is_empty() {
                    return Some(event);
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => value.clone_into(&mut self.event.id),
                "data" => self.event.data += value,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{EventReader, SentEvent};

    #[test]
    fn events_are_read_from_parts_of_any_length() {
        let stream =
            ": keep-alive\n\nevent: a\nid: 1-x\ndata: {\"n\": 1}\n\nid: 2-y\r\ndata: {}\r\n\r\nid: 3";
        let sent = |id: &str, data: &str| SentEvent { id: id.into(), data: data.into() };
        for length in [1, 3, 7, 200] {
            let (mut reader, mut read) = (EventReader::default(), Vec::new());
            for part in stream.as_bytes().chunks(length) {
                reader.push(part);
                read.extend(std::iter::from_fn(|| reader.next_event()));
            }
            assert_eq!(read, [sent("1-x", "{\"n\": 1}"), sent("2-y", "{}")], "{length}");
        }
    }
}
