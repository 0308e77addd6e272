use std::{
    path::PathBuf,
    sync::Arc,
    thread::{Builder, JoinHandle},
    time::Duration,
};

use crate::{log::audit_log::AuditLog, writer::desk::AuditWriter};
use wf_base::{failpoint, time::Clock};
use wf_store::{
    StoreError,
    feed::{BusSubscription, BusUnsubscriber},
};

/// The time that messages wait for more, so they are written together.
const PAUSE: Duration = Duration::from_millis(100);

/// The configuration of an auditor.
pub struct AuditorConfig {
    pub state: PathBuf,
    pub clock: Arc<dyn Clock>,
    /// The length of activity after which a report is written.
    pub window: Duration,
    /// The length of a segment of the log, in bytes.
    pub segment: u64,
}

impl AuditorConfig {
    /// The usual length of a segment: the records of some hundred runs.
    pub const SEGMENT: u64 = 4 << 20;
}

/// Watches a bus from a thread of its own, and records its messages.
///
/// Its only handle on the engine is a [`BusSubscription`], which receives and does nothing else: it can give no
/// orders. It writes only to its own file.
#[derive(Debug)]
pub struct Auditor {
    unsubscriber: BusUnsubscriber,
    thread: Option<JoinHandle<AuditorOutcome>>,
}

/// The result of an auditor's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditorOutcome {
    /// The number of messages it was too slow for. They are in the log all the same, read from the
    /// database, unless they were acts.
    pub lost: u64,
    /// The reason why a write failed, if one did. The next auditor reads it from the database.
    pub trouble: Option<String>,
}

impl Auditor {
    /// Starts watching. The log records the start before this returns, so everything that follows is known to
    /// have been watched.
    pub fn start(config: &AuditorConfig, subscription: BusSubscription) -> Result<Self, StoreError> {
        let failed = |error| StoreError::io("write the audit log in", &config.state, &error);
        failpoint::point("audit.before");
        let mut log = AuditLog::open(&config.state).map_err(failed)?;
        let writer = AuditWriter::open(config, &mut log).map_err(failed)?;
        failpoint::point("audit.after");
        let unsubscriber = subscription.unsubscriber();
        let worker = AuditorThread { log, writer };
        let thread = Builder::new()
            .name("wf-audit".into())
            .spawn(move || worker.run(&subscription))
            .map_err(failed)?;
        Ok(Self { unsubscriber, thread: Some(thread) })
    }

    /// Lets it finish by itself: messages published so far are written in the background.
    pub fn finish_in_background(&self) {
        self.unsubscriber.end();
    }

    /// Writes all messages published so far, and stops.
    pub fn close(mut self) -> AuditorOutcome {
        self.end()
    }

    fn end(&mut self) -> AuditorOutcome {
        self.unsubscriber.end();
        let thread = self.thread.take();
        thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        self.end();
    }
}

/// The auditor, on its thread.
struct AuditorThread {
    log: AuditLog,
    writer: AuditWriter,
}

impl AuditorThread {
    fn run(mut self, subscription: &BusSubscription) -> AuditorOutcome {
        subscription.wait_for_message();
        // Done while the first step is starting, not when the run has ended and the user waits.
        self.writer.prepare_reader();
        while let Some(heard) =
            if self.writer.is_waiting_for_gap() { subscription.poll(PAUSE) } else { subscription.wait(PAUSE) }
        {
            self.writer.receive(heard);
            self.writer.write(&mut self.log);
        }
        self.writer.close(&mut self.log)
    }
}
