use crate::bus::{Bound, Message, What};
use crate::machine::Event;
use crate::store::{Appended, LogPlace};

use super::run::Ongoing;

/// Tells everybody who listens what became durable: the run itself, if it was recorded now, and
/// its events.
pub(super) fn durable(run: &Ongoing, appended: &Appended, events: Vec<Event>) {
    let tell = |at, what| {
        run.session.bus.publish(Message {
            at,
            run: Some(run.this.id.clone()),
            plan: Some(run.this.plan.clone()),
            path: run.this.path.clone(),
            what,
        });
    };
    let mut rows = appended.rows.iter().map(bound);
    let first = events.first().map(|event| event.at);
    if appended.rows.len() > events.len()
        && let (Some(at), Some(first)) = (rows.next(), first)
    {
        tell(first, What::Recorded { at });
    }
    let before = appended.last.saturating_sub(events.len() as u64);
    for ((event, at), n) in events.into_iter().zip(rows).zip(before + 1..) {
        let fact = Box::new(event.fact);
        tell(event.at, What::Event { at, n, fact });
    }
}

fn bound(row: &LogPlace) -> Bound {
    Bound {
        seq: row.seq,
        hash: row.hash,
    }
}
