//! The runs of a session that only wait for approvals. Once all do, the session can end.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use wf_core::machine::ApprovalRequest;
use wf_core::observe::RunRef;

/// A pending approval of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspendedRequest {
    pub run: RunRef,
    pub request: ApprovalRequest,
}

/// The suspended runs of a session, which only wait for approvals. When all are, the session can
/// end, and the runs can be resumed later.
#[derive(Debug, Default)]
pub(crate) struct SuspendedRuns {
    runs: Mutex<BTreeMap<String, Option<Vec<SuspendedRequest>>>>,
    changed: Notify,
}

impl SuspendedRuns {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Option<Vec<SuspendedRequest>>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the approvals a run waits for; `None`: it has something to do.
    pub(crate) fn note(&self, run: &RunRef, requests: Option<Vec<SuspendedRequest>>) {
        let idle = requests.is_some();
        let before = self.runs().insert(run.id.to_string(), requests);
        if idle && before.flatten().is_none() {
            self.changed.notify_one();
        }
    }

    /// Forgets an ended run.
    pub(crate) fn forget(&self, run: &RunRef) {
        self.runs().remove(run.id.as_str());
    }

    /// Returns the pending approvals of all runs, if none has anything to do.
    pub(crate) fn questions(&self) -> Option<Vec<SuspendedRequest>> {
        let runs = self.runs();
        let requests: Option<Vec<&Vec<SuspendedRequest>>> = runs.values().map(Option::as_ref).collect();
        Some(requests?.into_iter().flatten().cloned().collect())
    }

    /// Waits until one more run has nothing to do.
    pub(crate) async fn wait_for_change(&self) {
        self.changed.notified().await;
    }
}
