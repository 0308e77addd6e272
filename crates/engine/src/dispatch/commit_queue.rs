//! The decisions not durable yet, and the publication of those that are.
//!
//! All that is decided between two waits of the loop is sent to the disk in one write.

use std::collections::VecDeque;

use wf_core::machine::{Effect, Event, TaskId};
use wf_store::{
    AppendResult, EventBatch, LogPosition, NewRun, StoreError, WriteTicket,
    feed::{BusMessage, BusMessageKind, LogAnchor},
};

use crate::run::RunContext;

/// The facts and effects decided at once.
pub(super) struct PendingTurn {
    /// The number of rounds ordered by then.
    pub(crate) round: u32,
    pub(crate) events: Vec<Event>,
    pub(super) effects: Vec<Effect>,
}

/// Everything of a run that is not durable, in order.
pub(super) struct CommitQueue {
    /// The run itself, if nothing of it is recorded yet.
    new: Option<NewRun>,
    /// The number of events of the run the store has, or is about to have.
    follows: u64,
    sent: VecDeque<(WriteTicket<AppendResult>, Vec<PendingTurn>)>,
    pending: Vec<PendingTurn>,
}

impl CommitQueue {
    pub(crate) fn new(new: Option<NewRun>) -> Self {
        Self { new, follows: 0, sent: VecDeque::new(), pending: Vec::new() }
    }

    /// Sets the number of durable events of the run.
    pub(super) fn set_last_number(&mut self, number: u64) {
        self.follows = number;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.pending.is_empty()
    }

    /// Adds a decision to those sent next.
    pub(crate) fn push(&mut self, turn: PendingTurn) {
        self.pending.push(turn);
    }

    /// True if locks of a task are released once what was decided is durable.
    pub(super) fn releases(&self, task_id: &TaskId) -> bool {
        let sent = self.sent.iter().flat_map(|(_, turns)| turns);
        let mut effects = sent.chain(&self.pending).flat_map(|turn| &turn.effects);
        effects.any(|effect| matches!(effect, Effect::Unlock { task_id: of } if of == task_id))
    }

    /// Sends the decisions since the last time.
    pub(crate) fn send(&mut self, run: &RunContext) {
        if self.pending.is_empty() {
            return;
        }
        let events = self.pending.iter().flat_map(|turn| &turn.events);
        let events: Vec<_> = events.cloned().collect();
        let number = events.len() as u64;
        let ticket = run.session.store.append(EventBatch {
            run: run.run_ref.id.clone(),
            token: run.ownership.token.clone(),
            after: Some(self.follows),
            new: self.new.take(),
            events,
        });
        self.follows += number;
        let decided = std::mem::take(&mut self.pending);
        self.sent.push_back((ticket, decided));
    }

    /// True if an answer is outstanding.
    pub(super) fn awaits_commit(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Waits for the answer to what was sent first; may be dropped while it waits.
    pub(crate) async fn answer(&mut self) -> Result<AppendResult, StoreError> {
        match self.sent.front_mut() {
            Some((ticket, _)) => ticket.await,
            None => std::future::pending().await,
        }
    }

    /// Removes and returns the first sent decision, now durable.
    pub(super) fn take_durable(&mut self) -> Vec<PendingTurn> {
        self.sent.pop_front().map(|(_, decided)| decided).unwrap_or_default()
    }
}

/// Publishes to all listeners the durable news: the run itself, if it was recorded now, and its events.
pub(crate) fn publish_durable(run: &RunContext, appended: &AppendResult, events: Vec<Event>) {
    let tell = |at, message| {
        run.session.bus.publish(BusMessage {
            at,
            run: Some(run.run_ref.id.clone()),
            plan: Some(run.run_ref.plan.clone()),
            path: run.run_ref.path.clone(),
            login: None,
            kind: message,
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
