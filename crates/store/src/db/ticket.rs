use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::oneshot;

use crate::error::StoreError;

/// The promise of an answer, sent once the work is durable. Dropping it does not cancel the work.
#[must_use = "only an answered ticket says that the work is durable"]
#[derive(Debug)]
pub struct WriteTicket<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> WriteTicket<T> {
    /// Creates a ticket and the sender of its answer.
    pub(crate) fn new() -> (oneshot::Sender<Result<T, StoreError>>, Self) {
        let (answer, ticket) = oneshot::channel();
        (answer, Self(ticket))
    }

    /// Blocks the calling thread until the answer comes. In an async runtime, await the ticket
    /// instead: blocking a worker thread stalls other tasks, so tokio panics, the first time.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.blocking_recv().unwrap_or(Err(StoreError::Closed))
    }
}

impl<T> Future for WriteTicket<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, turn: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(turn).map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}

#[cfg(test)]
mod tests {
    use super::WriteTicket;

    #[test]
    fn any_number_is_waited_for_one_after_the_other() {
        for number in 0..1_000 {
            let (answer, ticket) = WriteTicket::new();
            answer.send(Ok(number)).unwrap();
            assert_eq!(ticket.wait(), Ok(number));
        }
    }

    #[tokio::test]
    async fn any_number_is_awaited_in_one_turn() {
        for number in 0..1_000 {
            let (answer, ticket) = WriteTicket::new();
            answer.send(Ok(number)).unwrap();
            assert_eq!(ticket.await, Ok(number));
        }
    }

    #[tokio::test]
    #[should_panic(expected = "Cannot block the current thread")]
    async fn the_thread_of_a_runtime_is_never_made_to_wait() {
        let (_answer, ticket) = WriteTicket::<()>::new();
        let _ = ticket.wait();
    }
}
