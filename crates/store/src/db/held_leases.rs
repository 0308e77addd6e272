use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{
    column::integer,
    db::{queue::WriteJob, writer::WriteContext},
    error::{QueryResult, StoreError},
    lease::{
        process::since_boot,
        run_lease::{self, FencingToken},
    },
};
use wf_base::name::RunId;

/// The leases a store's writer renews. The writer itself does so, so they run out when its process is
/// stopped.
#[derive(Debug)]
pub(crate) struct HeldLeases {
    millis: i64,
    held: RefCell<BTreeMap<RunId, HeldLease>>,
    due: Cell<i64>,
}

#[derive(Debug)]
struct HeldLease {
    token: FencingToken,
    loss_sender: oneshot::Sender<StoreError>,
}

impl HeldLeases {
    /// Starts with none; each will last for `length`.
    pub(crate) fn new(length: Duration) -> Self {
        Self { millis: integer(length.as_millis()), held: RefCell::default(), due: Cell::new(0) }
    }

    /// Returns the end of a lease beginning now.
    pub(crate) fn end(&self) -> i64 {
        since_boot().saturating_add(self.millis)
    }

    /// Renews a lease from now on; returns the channel on which its loss is reported.
    pub(super) fn keep_renewing(&self, token: FencingToken) -> oneshot::Receiver<StoreError> {
        let (lost, hears) = oneshot::channel();
        let mut held = self.held.borrow_mut();
        if held.is_empty() {
            self.postpone_renewal();
        }
        held.insert(token.run.clone(), HeldLease { token, loss_sender: lost });
        hears
    }

    /// Stops renewing a lease.
    pub(super) fn stop_renewing(&self, token: &FencingToken) {
        let mut held = self.held.borrow_mut();
        if held.get(&token.run).is_some_and(|held| held.token == *token) {
            held.remove(&token.run);
        }
    }

    /// Returns the time until the next renewal; `None` if there are no leases.
    pub(crate) fn wait(&self) -> Option<Duration> {
        if self.held.borrow().is_empty() {
            return None;
        }
        let wait = self.due.get().saturating_sub(since_boot());
        Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
    }

    fn postpone_renewal(&self) {
        self.due.set(since_boot().saturating_add(self.millis / 3));
    }
}

/// Renews the leases held, and reports those that another process took.
pub(crate) struct LeaseRenewal;

impl WriteJob for LeaseRenewal {
    fn work(&mut self, writing: &WriteContext<'_>) -> QueryResult<()> {
        let leases = &writing.writer.leases;
        // Put off even if it fails: retrying at once would not help.
        leases.postpone_renewal();
        let end = leases.end();
        let mut lost = Vec::new();
        for held in leases.held.borrow().values() {
            if !run_lease::renew(writing.connection, &held.token, end)? {
                let reason = run_lease::refusal(writing.connection, &held.token)?;
                lost.extend(reason.map(|reason| (held.token.run.clone(), reason)));
            }
        }
        for (run, reason) in lost {
            if let Some(held) = leases.held.borrow_mut().remove(&run) {
                // A dropped fence does not listen.
                let _ = held.loss_sender.send(reason);
            }
        }
        Ok(())
    }

    fn answer(self: Box<Self>, _: Result<(), StoreError>) {}
}
