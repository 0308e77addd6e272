//! The publication of events, once they are durable.

use wf_core::machine::Event;
use wf_store::feed::{BusMessage, BusMessageKind, LogAnchor};
use wf_store::{AppendResult, LogPosition};

use crate::run::RunContext;

/// Publishes to all listeners the durable news: the run itself, if it was recorded now, and its events.
pub(crate) fn durable(run: &RunContext, appended: &AppendResult, events: Vec<Event>) {
    let tell = |at, what| {
        run.session.bus.publish(BusMessage {
            at,
            run: Some(run.run_ref.id.clone()),
            plan: Some(run.run_ref.plan.clone()),
            path: run.run_ref.path.clone(),
            what,
        });
    };
    let mut rows = appended.rows.iter().map(bound);
    let first = events.first().map(|event| event.at);
    if appended.rows.len() > events.len()
        && let (Some(at), Some(first)) = (rows.next(), first)
    {
        tell(first, BusMessageKind::Recorded { at });
    }
    let before = appended.last.saturating_sub(events.len() as u64);
    for ((event, at), n) in events.into_iter().zip(rows).zip(before + 1..) {
        let fact = Box::new(event.fact);
        tell(event.at, BusMessageKind::Event { at, n, fact });
    }
}

fn bound(position: &LogPosition) -> LogAnchor {
    LogAnchor { seq: position.seq, hash: position.hash }
}
