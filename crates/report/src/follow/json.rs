use std::io::{self, Write};

use serde::Serialize;

use wf_base::{name::RunId, untrusted::json};
use wf_core::{
    machine::{Attempt, Event},
    observe::{OutputStream, RunObserver, RunRef},
};

/// The version of the public event format. Within a version, keys and events are only added.
pub const EVENT_VERSION: u32 = 1;

/// One line of `wf run --json`: an event and its run.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct EventLine {
    /// The version of the format.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// The tasks above the run, outermost first, if it is nested.
    pub parents: Vec<String>,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// Writes every event as one line of JSON.
#[derive(Debug)]
pub struct JsonEventWriter<W> {
    out: W,
    write_error: Option<io::Error>,
}

impl<W: Write> JsonEventWriter<W> {
    /// Writes to `out`. After the first line that cannot be written nothing more is written: the
    /// run continues, and [`RunObserver::write_error`] reports the loss.
    pub fn new(out: W) -> Self {
        Self { out, write_error: None }
    }
}

impl<W: Write> JsonEventWriter<W> {
    fn write(&mut self, line: &EventLine) -> io::Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        self.out.write_all(json(&text).as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> RunObserver for JsonEventWriter<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        let line = EventLine {
            v: EVENT_VERSION,
            run: run.id.clone(),
            parents: run.path.clone(),
            event: event.clone(),
        };
        if self.write_error.is_none() {
            self.write_error = self.write(&line).err();
        }
    }

    fn output(&mut self, _: &RunRef, _: &Attempt, _: OutputStream, _: &[u8]) {}

    fn write_error(&mut self) -> Option<io::Error> {
        self.write_error.take()
    }
}

#[cfg(test)]
mod tests {
    use super::JsonEventWriter;
    use wf_base::{
        name::{PlanId, RunId},
        time::Moment,
    };
    use wf_core::{
        machine::{Event, EventKind, RunPhase},
        observe::{RunObserver, RunRef},
    };

    #[test]
    fn an_event_is_one_line() {
        let run = RunRef {
            id: RunId::from_stored("ab"),
            plan: PlanId::parse("demo").unwrap(),
            path: vec!["build[2]".into()],
        };
        let event =
            Event { at: Moment::from_millis(0), fact: EventKind::PhaseStarted { phase: RunPhase::Finally } };
        let mut out = Vec::new();
        JsonEventWriter::new(&mut out).event(&run, &event);
        let expected = concat!(
            r#"{"v":1,"run":"ab","parents":["build[2]"],"at":"1970-01-01T00:00:00.000Z","#,
            r#""event":"phase_started","phase":"finally"}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
