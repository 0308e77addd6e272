use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::queue::Queue;
use super::writer::Writing;
use super::{StoreError, owners};
use crate::name::RunId;

/// The number that an owner of a run writes under. What is written under a number that is not
/// the run's newest is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The run that is owned; what is nested in it is written under the same token.
    pub run: RunId,
    /// The number; zero is good for a run that nobody took yet.
    pub number: u64,
}

impl Token {
    /// The first that anybody gets.
    pub(super) fn first(run: &RunId) -> Self {
        Self {
            run: run.clone(),
            number: 1,
        }
    }
}

/// The right to work on a run, given back when dropped, unless the end of the run did that.
#[derive(Debug)]
pub struct Fence {
    token: Token,
    queue: Queue,
    lost: oneshot::Receiver<StoreError>,
}

impl Fence {
    /// A fence around a run that the writer has just taken.
    pub(super) fn new(token: Token, queue: Queue, lost: oneshot::Receiver<StoreError>) -> Self {
        Self { token, queue, lost }
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.token.run
    }

    /// What to write under.
    pub fn token(&self) -> Token {
        self.token.clone()
    }

    /// Waits until somebody else took the run; the error says who.
    pub async fn lost(&mut self) -> StoreError {
        match (&mut self.lost).await {
            Ok(error) => error,
            // The writer is gone; whoever waits for it is told so.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // The writer has forgotten it: it was given back with the end of the run. If that was not
        // written after all, it is given back when the store closes.
        if let Err(TryRecvError::Closed) = self.lost.try_recv() {
            return;
        }
        let token = self.token.clone();
        // Nobody waits: a process that dies before this is done is seen to be dead.
        drop(self.queue.send(move |writing| give_back(writing, &token)));
    }
}

/// Gives a run back that is held under a token.
pub(super) fn give_back(writing: &Writing<'_>, token: &Token) -> Result<(), StoreError> {
    let writer = writing.writer;
    writer.leases.forget(token);
    owners::give_back(writing.connection, token, writer.clock.now())
        .map_err(|error| writing.failed(&error))
}
