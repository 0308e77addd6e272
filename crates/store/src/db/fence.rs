use tokio::sync::{oneshot, oneshot::error::TryRecvError};

use crate::{
    db::{queue::WriterQueue, writer::WriteContext},
    error::{QueryResult, StoreError},
    lease::run_lease::{self, FencingToken},
};
use wf_base::name::RunId;

/// The right to work on a run, released when dropped, unless the end of the run did that.
#[derive(Debug)]
pub struct RunFence {
    token: FencingToken,
    queue: WriterQueue,
    loss_receiver: oneshot::Receiver<StoreError>,
}

impl RunFence {
    /// Makes the fence of a run the writer has just taken.
    pub(crate) fn new(token: FencingToken, queue: WriterQueue, lost: oneshot::Receiver<StoreError>) -> Self {
        Self { token, queue, loss_receiver: lost }
    }

    pub fn run(&self) -> &RunId {
        &self.token.run
    }

    /// Returns the token to write under.
    pub fn token(&self) -> FencingToken {
        self.token.clone()
    }

    /// Waits until another process takes the run; the error names it.
    pub async fn lost(&mut self) -> StoreError {
        match (&mut self.loss_receiver).await {
            Ok(error) => error,
            // The writer is gone; callers waiting for it get that error from their tickets.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for RunFence {
    fn drop(&mut self) {
        // The writer has dropped it: it was released with the end of the run. If that was not
        // written after all, it is released when the store closes.
        if let Err(TryRecvError::Closed) = self.loss_receiver.try_recv() {
            return;
        }
        let token = self.token.clone();
        // The result is not awaited: if this process dies first, others can see that it is dead.
        drop(self.queue.send(move |writing| give_back(writing, &token)));
    }
}

/// Releases the run held under a token.
pub(crate) fn give_back(writing: &WriteContext<'_>, token: &FencingToken) -> QueryResult<()> {
    let writer = writing.writer;
    writer.leases.stop_renewing(token);
    Ok(run_lease::give_back(writing.connection, token, writer.clock.now())?)
}
