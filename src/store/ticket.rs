use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::sync::oneshot;

use super::StoreError;

/// The promise of an answer, given once what it answers is durable. Dropping it does not take
/// the work back.
#[must_use = "only an answered ticket says that the work is durable"]
#[derive(Debug)]
pub struct Ticket<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Ticket<T> {
    /// A ticket and the place where its answer goes.
    pub(super) fn new() -> (oneshot::Sender<Result<T, StoreError>>, Self) {
        let (answer, ticket) = oneshot::channel();
        (answer, Self(ticket))
    }

    /// Waits without a runtime, on the calling thread.
    pub fn wait(self) -> Result<T, StoreError> {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut turn = Context::from_waker(&waker);
        let mut ticket = pin!(self);
        loop {
            match ticket.as_mut().poll(&mut turn) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

impl<T> Future for Ticket<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, turn: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(turn)
            .map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}

/// Wakes a waiting thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
