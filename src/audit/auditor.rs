use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::desk::Desk;
use super::log::Log;
use crate::bus::{Leave, Tap};
use crate::crash;
use crate::store::StoreError;
use crate::time::Clock;

/// How long messages wait for more, so that they are written together.
const PAUSE: Duration = Duration::from_millis(100);

/// What an auditor needs besides a tap.
pub struct Start {
    /// The state folder.
    pub state: PathBuf,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// After how much activity a report is written.
    pub window: Duration,
}

/// Watches a bus from a thread of its own, and writes down what it hears.
///
/// What it has of the engine is a [`Tap`], which receives and does nothing else: it can instruct
/// nobody. What it writes, it writes into its own file.
#[derive(Debug)]
pub struct Auditor {
    leave: Leave,
    thread: Option<JoinHandle<Ended>>,
}

/// How the work of an auditor went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many messages it was too slow for. They are in the log all the same, read in the
    /// database, unless they were acts.
    pub lost: u64,
    /// Why something could not be written, if so. The next auditor reads it in the database.
    pub trouble: Option<String>,
}

impl Auditor {
    /// Begins to watch. That it does stands in the log before this returns, so that what follows
    /// is known to have been watched.
    pub fn start(start: &Start, tap: Tap) -> Result<Self, StoreError> {
        let failed = |error| StoreError::io("write the audit log in", &start.state, &error);
        crash::point("audit.before");
        let mut log = Log::open(&start.state).map_err(failed)?;
        let desk = Desk::open(start, &mut log).map_err(failed)?;
        crash::point("audit.after");
        let leave = tap.leave();
        let worker = Worker { log, desk };
        let thread = Builder::new()
            .name("wf-audit".into())
            .spawn(move || worker.run(&tap))
            .map_err(failed)?;
        Ok(Self {
            leave,
            thread: Some(thread),
        })
    }

    /// Lets it end by itself: what was published before is written, while others go on.
    pub fn leave(&self) {
        self.leave.end();
    }

    /// Writes all that was published before, and ends.
    pub fn close(mut self) -> Ended {
        self.end()
    }

    fn end(&mut self) -> Ended {
        self.leave.end();
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        self.end();
    }
}

/// The auditor, on its thread.
struct Worker {
    log: Log,
    desk: Desk,
}

impl Worker {
    fn run(mut self, tap: &Tap) -> Ended {
        tap.stirred();
        // While the first step is on its way, and not when the run has ended and is waited for.
        self.desk.get_ready();
        while let Some(heard) = if self.desk.holds() {
            tap.poll(PAUSE)
        } else {
            tap.wait(PAUSE)
        } {
            self.desk.hear(heard);
            self.desk.write(&mut self.log);
        }
        self.desk.close(&mut self.log)
    }
}
