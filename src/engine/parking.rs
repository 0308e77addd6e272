use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::RunRef;
use crate::machine::Ask;

/// Something that a run waits for people to decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The run.
    pub run: RunRef,
    /// What is asked.
    pub ask: Ask,
}

/// Which runs of a session have nothing to do but to wait for people. When all have, nobody needs
/// to be there: the session can end, and somebody goes on with it later.
#[derive(Debug, Default)]
pub(super) struct Parking {
    runs: Mutex<BTreeMap<String, Option<Vec<Question>>>>,
    changed: Notify,
}

impl Parking {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Option<Vec<Question>>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a run waits for; `None`: it has something to do.
    pub(super) fn note(&self, run: &RunRef, waits: Option<Vec<Question>>) {
        let idle = waits.is_some();
        let before = self.runs().insert(run.id.to_string(), waits);
        if idle && before.flatten().is_none() {
            self.changed.notify_one();
        }
    }

    /// Forgets a run that is over.
    pub(super) fn forget(&self, run: &RunRef) {
        self.runs().remove(run.id.as_str());
    }

    /// What all runs wait for, if none has anything to do.
    pub(super) fn questions(&self) -> Option<Vec<Question>> {
        let runs = self.runs();
        let all: Option<Vec<&Vec<Question>>> = runs.values().map(Option::as_ref).collect();
        Some(all?.into_iter().flatten().cloned().collect())
    }

    /// Waits until one more run has nothing to do.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}
