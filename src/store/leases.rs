use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::oneshot;

use super::process::since_boot;
use super::queue::Job;
use super::writer::Writing;
use super::{StoreError, Token, owners};
use crate::name::RunId;

/// The leases that a store's writer keeps alive. It does so itself, so that they run out when its
/// process is stopped.
#[derive(Debug)]
pub(super) struct Leases {
    millis: i64,
    held: RefCell<BTreeMap<RunId, Held>>,
    due: Cell<i64>,
}

#[derive(Debug)]
struct Held {
    token: Token,
    lost: oneshot::Sender<StoreError>,
}

impl Leases {
    /// None yet; each will last as long as said.
    pub(super) fn new(length: Duration) -> Self {
        Self {
            millis: i64::try_from(length.as_millis()).unwrap_or(i64::MAX),
            held: RefCell::default(),
            due: Cell::new(0),
        }
    }

    /// When a lease that begins now ends.
    pub(super) fn end(&self) -> i64 {
        since_boot().saturating_add(self.millis)
    }

    /// Keeps a lease alive from now on; gives where its loss will be told.
    pub(super) fn keep(&self, token: Token) -> oneshot::Receiver<StoreError> {
        let (lost, hears) = oneshot::channel();
        let mut held = self.held.borrow_mut();
        if held.is_empty() {
            self.put_off();
        }
        held.insert(token.run.clone(), Held { token, lost });
        hears
    }

    /// Lets a lease run out.
    pub(super) fn forget(&self, token: &Token) {
        let mut held = self.held.borrow_mut();
        if held
            .get(&token.run)
            .is_some_and(|held| held.token == *token)
        {
            held.remove(&token.run);
        }
    }

    /// How long until the leases are to be renewed; `None` if there are none.
    pub(super) fn wait(&self) -> Option<Duration> {
        if self.held.borrow().is_empty() {
            return None;
        }
        let wait = self.due.get().saturating_sub(since_boot());
        Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
    }

    fn put_off(&self) {
        self.due.set(since_boot().saturating_add(self.millis / 3));
    }
}

/// Renews what is held. What somebody else took is told to be lost.
pub(super) struct Renewal;

impl Job for Renewal {
    fn work(&mut self, writing: &Writing<'_>) -> Result<(), StoreError> {
        let leases = &writing.writer.leases;
        // Put off even if it fails: whatever is wrong, asking on and on would not mend it.
        leases.put_off();
        let end = leases.end();
        let mut lost = Vec::new();
        for held in leases.held.borrow().values() {
            let renewed = owners::renew(writing.connection, &held.token, end);
            if !renewed.map_err(|error| writing.failed(&error))? {
                let why = owners::refusal(writing.connection, &held.token);
                let why = why.map_err(|error| writing.failed(&error))?;
                lost.extend(why.map(|why| (held.token.run.clone(), why)));
            }
        }
        for (run, why) in lost {
            if let Some(held) = leases.held.borrow_mut().remove(&run) {
                // Whoever gave it up does not listen.
                let _ = held.lost.send(why);
            }
        }
        Ok(())
    }

    fn answer(self: Box<Self>, _: Result<(), StoreError>) {}
}
