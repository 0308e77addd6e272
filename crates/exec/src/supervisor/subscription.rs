//! The followers of an attempt, and the channels between both.

use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot, watch};

use super::message::RequestFollowUp;
use crate::{
    OnOutput, log::LogStream, runtime::lock_mutex, work::attempt::ProcessOutcome, work_error::StopLevel,
};

/// The number of output chunks queued for a slow engine; later ones are only in the log.
const OUTPUT_QUEUE_LENGTH: usize = 64;

/// The followers waiting for the outcome of an attempt.
#[derive(Clone, Default)]
pub(super) struct AttemptFollowers(Arc<Mutex<Vec<AttemptFollower>>>);

struct AttemptFollower {
    output: Option<mpsc::Sender<(LogStream, Vec<u8>)>>,
    outcome: oneshot::Sender<ProcessOutcome>,
}

/// The handle to an attempt under way or waiting.
pub(super) struct AttemptHandle {
    pub(super) stop: watch::Sender<StopLevel>,
    pub(super) followers: AttemptFollowers,
}

/// The channels of a connection following an attempt.
pub(super) struct AttemptSubscription {
    /// The output, if shown.
    pub(super) output: mpsc::Receiver<(LogStream, Vec<u8>)>,
    pub(super) outcome: oneshot::Receiver<ProcessOutcome>,
    /// The stop request.
    stop: watch::Sender<StopLevel>,
}

impl AttemptSubscription {
    /// Passes on a stop request.
    pub(super) fn forward_stop(&self, RequestFollowUp::End(degree): RequestFollowUp) {
        self.stop.send_if_modified(|stop| std::mem::replace(stop, degree.max(*stop)) < degree);
    }
}

impl AttemptHandle {
    pub(super) fn follow(&self, shows: bool) -> AttemptSubscription {
        let (to, shown) = mpsc::channel(OUTPUT_QUEUE_LENGTH);
        let (end, ended) = oneshot::channel();
        lock_mutex(&self.followers.0).push(AttemptFollower { output: shows.then_some(to), outcome: end });
        AttemptSubscription { output: shown, outcome: ended, stop: self.stop.clone() }
    }
}

impl AttemptFollowers {
    /// Sends the outcome of the attempt to all followers.
    pub(super) fn send_outcome(&self, outcome: &ProcessOutcome) {
        for follower in lock_mutex(&self.0).drain(..) {
            let _ = follower.outcome.send(outcome.clone());
        }
    }

    /// Sends output to the followers that want it and have room for it.
    pub(super) fn show(&self) -> OnOutput {
        let followers = self.clone();
        Box::new(move |stream, bytes| {
            for follower in lock_mutex(&followers.0).iter() {
                if let Some(to) = &follower.output {
                    let _ = to.try_send((stream, bytes.to_vec()));
                }
            }
        })
    }
}
