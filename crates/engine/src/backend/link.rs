//! The way to the program of a backend.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::Instant;

use wf_base::name::RunId;
use wf_exec::{StopLevel, dialogue::LineSender};

use super::{family::RunFamily, remote::ToBackend};
use crate::session::{EngineError, EngineSession};

/// The time after which an answer delivered without effect was not enough.
const COUNTING_TIME: Duration = Duration::from_secs(10);

/// Sends a message.
pub(crate) async fn send(sender: &mut LineSender, message: &ToBackend) {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    sender.send_text(&line).await;
}

/// The way to the program, and what it was told.
pub(super) struct BackendLink {
    sender: LineSender,
    sent: BTreeSet<(RunId, u32, String)>,
    /// The number of answers passed on, and not yet delivered.
    undelivered: usize,
    /// The time of the last delivery.
    delivered_at: Option<Instant>,
    level: StopLevel,
}

impl BackendLink {
    pub(crate) fn new(sender: LineSender) -> Self {
        Self { sender, sent: BTreeSet::new(), undelivered: 0, delivered_at: None, level: StopLevel::No }
    }

    pub(super) fn delivered(&mut self) {
        self.undelivered = self.undelivered.saturating_sub(1);
        self.delivered_at = Some(Instant::now());
    }

    /// Starts a run whose opening is recorded first, if it is not: so the use of its approval is counted, and the run is
    /// known here whatever happens next.
    pub(crate) async fn start(&mut self, family: &mut RunFamily) -> Result<(), EngineError> {
        let outermost = family.outermost();
        if outermost.event_count() == 0 {
            let (run, opening) = (outermost.id().clone(), outermost.opening().to_vec());
            family.extend(&run, opening).await?;
        }
        send(&mut self.sender, &ToBackend::Start).await;
        Ok(())
    }

    pub(crate) async fn cancel(&mut self, level: StopLevel) {
        for degree in [StopLevel::Gently, StopLevel::AtOnce] {
            if self.level < degree && degree <= level {
                self.level = degree;
                send(&mut self.sender, &ToBackend::Cancel).await;
            }
        }
    }

    /// Passes on new answers. Returns true if one may still be counted.
    pub(super) async fn pass_on_answers(
        &mut self,
        session: &EngineSession,
        family: &RunFamily,
    ) -> Result<bool, EngineError> {
        for (run, ask) in family.open_requests() {
            for answer in session.store.reader()?.approvals().answers(&run, ask.request)? {
                let key = (run.clone(), ask.request, answer.token);
                if !self.sent.contains(&key) {
                    let (run, request, token) = key.clone();
                    send(&mut self.sender, &ToBackend::Answer { run, request, token }).await;
                    self.sent.insert(key);
                    self.undelivered += 1;
                }
            }
        }
        let is_counting = self.delivered_at.is_some_and(|at| at.elapsed() < COUNTING_TIME);
        Ok(self.undelivered > 0 || is_counting)
    }
}
