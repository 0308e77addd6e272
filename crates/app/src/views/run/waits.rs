//! The times in which the tasks of a run waited, or nobody worked on it.

use std::collections::BTreeMap;

use super::view::RunScope;
use crate::CommandError;
use wf_base::time::Moment;
use wf_core::machine::{Event, EventKind, TaskId};
use wf_report::draw::BarKind;

/// A stretch in which a task waited for something that events name.
pub(super) struct WaitSpan {
    pub kind: BarKind,
    pub from: Moment,
    pub until: Option<Moment>,
    pub text: String,
}

/// Returns the times in which tasks waited for locks and for people.
pub(super) fn waits_of(events: &[Event]) -> BTreeMap<TaskId, Vec<WaitSpan>> {
    let mut waits: BTreeMap<TaskId, Vec<WaitSpan>> = BTreeMap::new();
    let mut requests = BTreeMap::new();
    for event in events {
        match &event.fact {
            EventKind::LockRequested { task_id, lock } => {
                waits.entry(task_id.clone()).or_default().push(WaitSpan {
                    kind: BarKind::Queued,
                    from: event.at,
                    until: None,
                    text: format!("lock {lock}"),
                });
            }
            EventKind::ApprovalRequested(request) => {
                if let Some(task_id) = &request.task_id {
                    let spans = waits.entry(task_id.clone()).or_default();
                    requests.insert(request.request, (task_id.clone(), spans.len()));
                    let text = format!("request {}", request.request);
                    spans.push(WaitSpan { kind: BarKind::Waiting, from: event.at, until: None, text });
                }
            }
            EventKind::ApprovalResolved { request, .. } => {
                let place = requests.get(request);
                let span = place.and_then(|(task_id, at)| waits.get_mut(task_id)?.get_mut(*at));
                if let Some(span) = span {
                    span.until = Some(event.at);
                }
            }
            _ => {}
        }
    }
    waits
}

/// Returns the times in which no process had a run before it was resumed.
pub(super) fn idle_spans(scope: &RunScope<'_>) -> Result<Vec<WaitSpan>, CommandError> {
    let spans = scope.store().runs().idle_intervals(scope.run)?.into_iter().map(|interval| WaitSpan {
        kind: BarKind::Waiting,
        from: interval.from,
        until: Some(interval.until),
        text: String::new(),
    });
    Ok(spans.collect())
}

/// Returns the parts of a stretch of time in which no task waited; of one that goes on, the last goes on, too.
pub(super) fn apart_from<'a>(
    started: Moment,
    until: Option<Moment>,
    waits: impl Iterator<Item = &'a WaitSpan>,
) -> Vec<(Moment, Option<Moment>)> {
    let (mut parts, mut from) = (Vec::new(), started);
    for span in waits.filter(|span| span.from >= started && until.is_none_or(|until| span.from <= until)) {
        if span.from > from {
            parts.push((from, Some(span.from)));
        }
        match span.until {
            Some(answered) => from = answered.max(from),
            None => return parts,
        }
    }
    if until.is_none_or(|until| until > from) || parts.is_empty() {
        parts.push((from, until));
    }
    parts
}
