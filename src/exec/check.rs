//! Runs checks: the only place that decides what a worker did.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Host, Mask, Stop};
use crate::expr::Scope;
use crate::machine::Verdict;
use crate::model::Check;
use crate::time::Clock;

/// Where checks run.
#[derive(Clone)]
pub struct Ground {
    /// The workspace's root.
    pub root: PathBuf,
    /// The engine's own environment.
    pub host: Arc<Host>,
    /// What evidence must not show.
    pub mask: Arc<Mask>,
    /// For the time a check took.
    pub clock: Arc<dyn Clock>,
    /// The time between asking a probe to end and killing it.
    pub grace: Duration,
}

/// A check with its templates rendered.
pub struct Trial {}

impl Trial {
    /// Renders a check. What goes wrong is told by the verdict.
    pub fn new(_check: &Check, _ground: &Ground, _scope: &dyn Scope) -> Self {
        todo!()
    }

    /// Runs the probe and judges what it found.
    pub async fn run(self, _stop: watch::Receiver<Stop>) -> Verdict {
        todo!()
    }
}
