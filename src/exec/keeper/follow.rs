//! Those who follow an attempt: what they are shown, told, and tell.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};

use super::message::Told;
use crate::exec::attempt::Gone;
use crate::exec::log::Stream;
use crate::exec::{OnOutput, Stop};

/// How many pieces of output wait for an engine that reads slowly; what comes then is only in
/// the log.
const WAITING: usize = 64;

/// Those who wait for the end of an attempt.
#[derive(Clone, Default)]
pub(super) struct Followers(Arc<Mutex<Vec<Follower>>>);

struct Follower {
    shown: Option<mpsc::Sender<(Stream, Vec<u8>)>>,
    ended: oneshot::Sender<Gone>,
}

/// An attempt that is under way or waits, as those who follow it reach it.
pub(super) struct Live {
    pub(super) stop: watch::Sender<Stop>,
    pub(super) followers: Followers,
}

/// How an attempt is followed from a connection.
pub(super) struct Following {
    /// What it prints, if that is shown.
    pub(super) shown: mpsc::Receiver<(Stream, Vec<u8>)>,
    /// How it ends.
    pub(super) ended: oneshot::Receiver<Gone>,
    /// How it is told to.
    stop: watch::Sender<Stop>,
    /// That it begins, if it is staged; closed if it does not.
    pub(super) begun: Option<oneshot::Receiver<()>>,
}

impl Following {
    /// Tells the attempt to end; one that has begun cannot be taken back.
    pub(super) fn told(&self, told: Told) {
        if let Told::End(degree) = told {
            self.stop
                .send_if_modified(|stop| std::mem::replace(stop, degree.max(*stop)) < degree);
        }
    }
}

impl Live {
    pub(super) fn follow(&self, shows: bool) -> Following {
        let (to, shown) = mpsc::channel(WAITING);
        let (end, ended) = oneshot::channel();
        self.followers.lock().push(Follower {
            shown: shows.then_some(to),
            ended: end,
        });
        Following {
            shown,
            ended,
            stop: self.stop.clone(),
            begun: None,
        }
    }
}

impl Followers {
    /// Tells all how the attempt ended.
    pub(super) fn tell(&self, gone: &Gone) {
        for follower in self.lock().drain(..) {
            let _ = follower.ended.send(gone.clone());
        }
    }

    /// Shows output to those who want to see it and have room for it.
    pub(super) fn show(&self) -> OnOutput {
        let followers = self.clone();
        Box::new(move |stream, bytes| {
            for follower in followers.lock().iter() {
                if let Some(to) = &follower.shown {
                    let _ = to.try_send((stream, bytes.to_vec()));
                }
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Follower>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
