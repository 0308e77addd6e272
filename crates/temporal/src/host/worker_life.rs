//! The life of a worker: the caller it is for the local engine, and its end. It takes no more work then, finishes what is
//! under way, and leaves mere waiting to others.

use std::time::Duration;

use tokio::sync::watch;

use wf_app::{Caller, CliExitCode, CommandError, Host, LineReader};
use wf_base::{diag::CheckedFile, remedy::UserAction};

use crate::worker::log_line;

/// The work under way in a worker, and whether the worker is to end.
#[derive(Debug, Default)]
pub struct WorkerLife {
    under_way: watch::Sender<usize>,
    is_ending: watch::Sender<bool>,
}

/// A piece of work under way, until it is dropped.
pub struct WorkUnderWay<'a>(&'a WorkerLife);

impl Drop for WorkUnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl WorkerLife {
    /// Counts a new piece of work.
    pub fn begin(&self) -> WorkUnderWay<'_> {
        self.under_way.send_modify(|count| *count += 1);
        WorkUnderWay(self)
    }

    /// Orders the end of the worker.
    pub fn end(&self) {
        self.is_ending.send_replace(true);
    }

    /// Waits until the worker is to end.
    pub async fn ending(&self) {
        // The sender lives as long as this.
        let _ = self.is_ending.subscribe().wait_for(|is_ending| *is_ending).await;
    }

    /// Waits until nothing has been under way for some time.
    pub async fn idle(&self, time: Duration) {
        let mut count = self.under_way.subscribe();
        loop {
            let _ = count.wait_for(|count| *count == 0).await;
            tokio::select! {
                () = tokio::time::sleep(time) => return,
                _ = count.wait_for(|count| *count > 0) => {}
            }
        }
    }
}

/// The caller of a worker: what is said on the way goes to its log, and nobody can be asked.
pub struct WorkerCaller {
    pub host: Host,
    /// The words for acts of people.
    pub action_words: ActionText,
}

/// The words for an act of a person, by the command line.
pub type ActionText = fn(&UserAction) -> String;

impl Caller for WorkerCaller {
    fn host(&self) -> &Host {
        &self.host
    }

    fn message(&self, text: &str) {
        log_line(text.trim_end());
    }

    fn info(&self, _: &str) {}

    fn diagnostics(&self, _: &[CheckedFile]) {}

    fn message_printer(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        Box::new(|text| log_line(text.trim_end()))
    }

    fn is_verbose(&self) -> bool {
        false
    }

    fn is_interactive(&self) -> bool {
        false
    }

    fn ask(&self, question: &str) -> Result<String, CommandError> {
        Err(CommandError::new(CliExitCode::Usage, format!("a worker cannot ask: {question}")))
    }

    fn line_reader(&self) -> LineReader {
        Box::new(|| Err(CommandError::new(CliExitCode::Usage, "a worker cannot ask")))
    }

    fn ask_hidden(&self, question: &str) -> Result<String, CommandError> {
        self.ask(question)
    }

    fn action_words(&self, action: &UserAction) -> String {
        (self.action_words)(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn a_worker_is_idle_without_work_and_ends_when_it_is_told_to() {
        let life = WorkerLife::default();
        let work = [life.begin(), life.begin()];
        assert!(life.idle(Duration::ZERO).now_or_never().is_none());
        let [one, other] = work;
        drop(one);
        assert!(life.idle(Duration::ZERO).now_or_never().is_none());
        drop(other);
        life.idle(Duration::ZERO).await;
        assert!(life.ending().now_or_never().is_none());
        life.end();
        life.ending().await;
    }
}
