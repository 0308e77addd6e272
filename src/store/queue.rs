use std::sync::mpsc;

use tokio::sync::oneshot;

use super::writer::Writing;
use super::{StoreError, Ticket};

/// The way to the writer. Unbounded, because whoever sends waits for the answer before it goes
/// on: a run has one batch on its way.
#[derive(Clone, Debug)]
pub(super) struct Queue(mpsc::Sender<Message>);

/// What the writer is sent.
pub(super) enum Message {
    /// To do something in a transaction.
    Work(Box<dyn Job>),
    /// To do something in one transaction with what comes next, which is on its way.
    First(Box<dyn Job>),
    /// To end, after what came before.
    Stop,
}

/// Something to do in a transaction, and somebody to tell.
pub(super) trait Job: Send {
    /// Does it; an error takes back what this job did, and only that.
    fn work(&mut self, writing: &Writing<'_>) -> Result<(), StoreError>;

    /// Tells what came of it, after the commit, if it worked at all.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

impl Queue {
    /// A queue and its other end.
    pub(super) fn new() -> (Self, mpsc::Receiver<Message>) {
        let (sender, receiver) = mpsc::channel();
        (Self(sender), receiver)
    }

    /// Sends work to the writer. A writer that is gone answers [`StoreError::Closed`].
    pub(super) fn send<T, W>(&self, work: W) -> Ticket<T>
    where
        T: Send + 'static,
        W: FnOnce(&Writing<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.send_as(Message::Work, work)
    }

    /// Sends work that becomes durable with what is sent next, unless that takes long.
    pub(super) fn send_first<T, W>(&self, work: W) -> Ticket<T>
    where
        T: Send + 'static,
        W: FnOnce(&Writing<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.send_as(Message::First, work)
    }

    fn send_as<T, W>(&self, kind: fn(Box<dyn Job>) -> Message, work: W) -> Ticket<T>
    where
        T: Send + 'static,
        W: FnOnce(&Writing<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, ticket) = Ticket::new();
        let task = Task {
            work: Some(work),
            made: None,
            answer,
        };
        // If the writer is gone, the task is dropped here, and the ticket says so.
        let _ = self.0.send(kind(Box::new(task)));
        ticket
    }

    /// Tells the writer to end.
    pub(super) fn stop(&self) {
        let _ = self.0.send(Message::Stop);
    }
}

/// A function as a job.
struct Task<T, W> {
    work: Option<W>,
    made: Option<T>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Job for Task<T, W>
where
    T: Send,
    W: FnOnce(&Writing<'_>) -> Result<T, StoreError> + Send,
{
    fn work(&mut self, writing: &Writing<'_>) -> Result<(), StoreError> {
        let work = self.work.take().ok_or(StoreError::Closed)?;
        self.made = Some(work(writing)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let made = self.made.ok_or(StoreError::Closed);
        // Nobody may be listening any more.
        let _ = self.answer.send(committed.and(made));
    }
}
