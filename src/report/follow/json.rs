use std::io::{self, Write};

use serde::Serialize;

use crate::engine::{Observer, RunRef, Stream};
use crate::machine::{Attempt, Event};
use crate::name::RunId;
use crate::untrusted::json;

/// The version of the public event format. Within a version, keys and events are only added.
pub const EVENT_VERSION: u32 = 1;

/// One line of `wf run --json`: an event and the run it belongs to.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct EventLine {
    /// The version of the format.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// The places above the run, outermost first, where it is nested.
    pub path: Vec<String>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Writes every event as one line of JSON.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    lost: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`. After the first line that cannot be written nothing more is: the run goes
    /// on, and [`Observer::lost`] tells.
    pub fn new(out: W) -> Self {
        Self { out, lost: None }
    }
}

impl<W: Write> JsonLines<W> {
    fn write(&mut self, line: &EventLine) -> io::Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        self.out.write_all(json(&text).as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Observer for JsonLines<W> {
    fn event(&mut self, run: &RunRef, event: &Event) {
        let line = EventLine {
            v: EVENT_VERSION,
            run: run.id.clone(),
            path: run.path.clone(),
            event: event.clone(),
        };
        if self.lost.is_none() {
            self.lost = self.write(&line).err();
        }
    }

    fn output(&mut self, _: &RunRef, _: &Attempt, _: Stream, _: &[u8]) {}

    fn lost(&mut self) -> Option<io::Error> {
        self.lost.take()
    }
}

#[cfg(test)]
mod tests {
    use super::JsonLines;
    use crate::engine::{Observer, RunRef};
    use crate::machine::{Event, Fact, Phase};
    use crate::name::{PlanId, RunId};
    use crate::time::Moment;

    #[test]
    fn an_event_is_one_line() {
        let run = RunRef {
            id: RunId::from_stored("ab"),
            plan: PlanId::parse("demo").unwrap(),
            path: vec!["build[2]".into()],
        };
        let event = Event {
            at: Moment::from_millis(0),
            fact: Fact::PhaseEntered {
                phase: Phase::Finally,
            },
        };
        let mut out = Vec::new();
        JsonLines::new(&mut out).event(&run, &event);
        let expected = concat!(
            r#"{"v":1,"run":"ab","path":["build[2]"],"at":"1970-01-01T00:00:00.000Z","#,
            r#""event":"phase_entered","phase":"finally"}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
