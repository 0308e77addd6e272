//! What was decided and is not durable.
//!
//! It is sent to the disk at once, or held for a moment where nothing waits for it, to share a write
//! with what follows.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::run::Ongoing;
use crate::machine::{Effect, Event};
use crate::store::{Appended, Batch, NewRun, StoreError, Ticket};

/// How long something is held at most.
const SOON: Duration = Duration::from_millis(5);

/// What was decided at once.
pub(super) struct Decided {
    /// How many rounds had been ordered by then.
    pub(super) round: u32,
    /// How many ends were known to be bad.
    pub(super) bad_ends: u64,
    pub(super) events: Vec<Event>,
    pub(super) effects: Vec<Effect>,
}

/// Everything of a run that is not durable, in order.
pub(super) struct Undurable {
    /// The run itself, if nothing of it is recorded yet.
    new: Option<NewRun>,
    /// How many events of the run the store has, or is about to have.
    follows: u64,
    sent: VecDeque<(Ticket<Appended>, Vec<Decided>)>,
    held: Vec<Decided>,
    /// When what is held is sent.
    due: Option<Instant>,
    /// Whether it is to be sent before anything else is waited for.
    hurries: bool,
}

impl Undurable {
    pub(super) fn new(new: Option<NewRun>) -> Self {
        Self {
            new,
            follows: 0,
            sent: VecDeque::new(),
            held: Vec::new(),
            due: None,
            hurries: false,
        }
    }

    /// So many events of the run are durable.
    pub(super) fn follows(&mut self, number: u64) {
        self.follows = number;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.held.is_empty()
    }

    /// Adds something to what is held.
    pub(super) fn hold(&mut self, decided: Decided) {
        self.held.push(decided);
        self.send_soon();
    }

    /// Lets what is held, and what will be by then, be sent before long.
    pub(super) fn send_soon(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + SOON);
    }

    /// Lets what is held be sent before anything else is waited for.
    pub(super) fn send_now(&mut self) {
        self.hurries = true;
    }

    /// When what is held is to be sent.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends what is held, if it is to be sent now.
    pub(super) fn send(&mut self, run: &Ongoing) {
        if !std::mem::take(&mut self.hurries) {
            return;
        }
        self.due = None;
        if self.held.is_empty() {
            return;
        }
        let events = self.held.iter().flat_map(|turn| &turn.events);
        let events: Vec<_> = events.cloned().collect();
        let number = events.len() as u64;
        let ticket = run.session.store.append(Batch {
            run: run.this.id.clone(),
            token: run.tenure.token.clone(),
            after: Some(self.follows),
            new: self.new.take(),
            events,
        });
        self.follows += number;
        let decided = std::mem::take(&mut self.held);
        self.sent.push_back((ticket, decided));
    }

    /// Whether an answer is to come.
    pub(super) fn awaits(&self) -> bool {
        !self.sent.is_empty()
    }

    /// The answer to what was sent first; may be dropped while it waits.
    pub(super) async fn answer(&mut self) -> Result<Appended, StoreError> {
        match self.sent.front_mut() {
            Some((ticket, _)) => ticket.await,
            None => std::future::pending().await,
        }
    }

    /// What was sent first is durable.
    pub(super) fn durable(&mut self) -> Vec<Decided> {
        self.sent
            .pop_front()
            .map(|(_, decided)| decided)
            .unwrap_or_default()
    }
}
