use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::{
    db::{ticket::WriteTicket, writer::WriteContext},
    error::{QueryResult, StoreError},
};

/// The queue to the writer. Unbounded, because a sender waits for the answer before it continues: a
/// run has one batch in flight.
#[derive(Clone, Debug)]
pub(crate) struct WriterQueue(mpsc::Sender<WriterMessage>);

/// A message to the writer.
pub(crate) enum WriterMessage {
    /// A job to do in a transaction.
    Work(Box<dyn WriteJob>),
    /// A job to do in one transaction with the next one, which is about to be sent.
    First(Box<dyn WriteJob>),
    /// The request to stop, after the messages before it.
    Stop,
}

/// A job to do in a transaction, with a receiver of its result.
pub(crate) trait WriteJob: Send {
    /// True if nothing relies on it after a loss of power.
    fn is_brief(&self) -> bool {
        false
    }

    /// Does the job; an error rolls back this job, and only that.
    fn work(&mut self, writing: &WriteContext<'_>) -> QueryResult<()>;

    /// Sends the result after the commit, if there was one.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

impl WriterQueue {
    /// Creates a queue and its receiving end.
    pub(crate) fn new() -> (Self, mpsc::Receiver<WriterMessage>) {
        let (sender, receiver) = mpsc::channel();
        (Self(sender), receiver)
    }

    /// Sends a job to the writer. If the writer is gone, the answer is [`StoreError::Closed`].
    pub(crate) fn send<T, W>(&self, work: W) -> WriteTicket<T>
    where
        T: Send + 'static,
        W: FnOnce(&WriteContext<'_>) -> QueryResult<T> + Send + 'static,
    {
        self.send_as(WriterMessage::Work, false, work)
    }

    /// Sends a job that nothing relies on after a loss of power.
    pub(super) fn send_brief<T, W>(&self, work: W) -> WriteTicket<T>
    where
        T: Send + 'static,
        W: FnOnce(&WriteContext<'_>) -> QueryResult<T> + Send + 'static,
    {
        self.send_as(WriterMessage::Work, true, work)
    }

    /// Sends a job that becomes durable with the next one, unless that takes long.
    pub(super) fn send_first<T, W>(&self, work: W) -> WriteTicket<T>
    where
        T: Send + 'static,
        W: FnOnce(&WriteContext<'_>) -> QueryResult<T> + Send + 'static,
    {
        self.send_as(WriterMessage::First, false, work)
    }

    fn send_as<T, W>(
        &self,
        kind: fn(Box<dyn WriteJob>) -> WriterMessage,
        is_brief: bool,
        work: W,
    ) -> WriteTicket<T>
    where
        T: Send + 'static,
        W: FnOnce(&WriteContext<'_>) -> QueryResult<T> + Send + 'static,
    {
        let (answer, ticket) = WriteTicket::new();
        let task = FunctionJob { work: Some(work), result: None, is_brief, answer };
        // If the writer is gone, the task is dropped here, and the ticket reports it.
        let _ = self.0.send(kind(Box::new(task)));
        ticket
    }

    /// Tells the writer to stop.
    pub(super) fn stop(&self) {
        let _ = self.0.send(WriterMessage::Stop);
    }
}

/// A function as a job.
struct FunctionJob<T, W> {
    work: Option<W>,
    result: Option<T>,
    is_brief: bool,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> WriteJob for FunctionJob<T, W>
where
    T: Send,
    W: FnOnce(&WriteContext<'_>) -> QueryResult<T> + Send,
{
    fn is_brief(&self) -> bool {
        self.is_brief
    }

    fn work(&mut self, writing: &WriteContext<'_>) -> QueryResult<()> {
        let work = self.work.take().ok_or(StoreError::Closed)?;
        self.result = Some(work(writing)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let made = self.result.ok_or(StoreError::Closed);
        // The ticket may have been dropped.
        let _ = self.answer.send(committed.and(made));
    }
}
