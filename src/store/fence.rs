use super::queue::Queue;
use crate::name::RunId;

/// The right to work on a run, given back when dropped.
#[derive(Debug)]
pub struct Fence {
    run: RunId,
    queue: Queue,
}

impl Fence {
    /// A fence around a run that the writer has just taken.
    pub(super) fn new(run: RunId, queue: Queue) -> Self {
        Self { run, queue }
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.run
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        let run = self.run.clone();
        // Nobody waits: a process that dies before this is done is seen to be dead.
        drop(self.queue.send(move |writing| {
            let holder = &writing.writer.holder;
            holder
                .disown(writing.connection, &run)
                .map_err(|error| writing.failed(&error))
        }));
    }
}
