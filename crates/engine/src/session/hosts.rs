//! The data a session has from elsewhere. Several hosts share services, where they do the work of the same runs: the
//! ledgers, kept by the decider about the runs, and the results for reuse. A replay uses the data of its recorded run.

use std::{collections::BTreeMap, fmt, pin::Pin};

use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;
use wf_core::{
    agent::{PriorConversation, authoring::MemoryCalibration},
    machine::{ApprovalOutcome, ApprovalRequest, Attempt, AttemptUsage, CALL_UNPAID_PREFIX},
    observe::RunRef,
    run_ledgers::BudgetRefusal,
};
use wf_exec::WorkError;
use wf_model::EngineFailure;
use wf_store::{BlobStore, CacheEntry};

/// The ledgers of a run and of all runs nested in it, with the amounts any host has set aside for calls.
pub trait SharedLedgers: Send + Sync + fmt::Debug {
    /// Sets an amount aside for the work that asks, until its end is reported. The error is the reason why the ledgers
    /// cannot be asked.
    fn claim(&self, claim: WorkClaim) -> FutureClaim;
}

/// An answer of ledgers: the refusal, if a budget does not suffice.
pub type FutureClaim = Pin<Box<dyn Future<Output = Result<Option<BudgetRefusal>, WorkError>> + Send>>;

/// A claim of some work for the calls it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkClaim {
    /// The amount to be set aside instead of the one before: the past usage, and the most of the next call.
    pub wanted: AttemptUsage,
    /// True if the budget of the run itself has allowed it already, and is not asked again.
    pub own_allows: bool,
}

/// The reason why a call is not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpaidCall {
    /// A budget does not suffice.
    #[error("{CALL_UNPAID_PREFIX}: {0}")]
    Budget(BudgetRefusal),
    /// The ledgers cannot be asked.
    #[error("the budget cannot be asked whether it allows a model call: {0}")]
    Unasked(WorkError),
}

impl From<UnpaidCall> for WorkError {
    fn from(unpaid: UnpaidCall) -> Self {
        let remedy = match unpaid {
            UnpaidCall::Budget(_) => format!("; {}", EngineFailure::Budget.remedy()),
            UnpaidCall::Unasked(_) => String::new(),
        };
        Self::engine(EngineFailure::Budget, format!("{unpaid}{remedy}"))
    }
}

/// Results for reuse that several hosts share.
pub trait SharedResults: Send + Sync {
    /// Finds a result, and puts its files among those of a state. The error is the reason why one that is there cannot be
    /// used.
    fn find<'a>(&'a self, key: &'a Sha256Digest, blobs: &'a BlobStore) -> FutureResult<'a>;
}

/// An answer about a result: the result, if there is one.
pub type FutureResult<'a> = Pin<Box<dyn Future<Output = Result<Option<CacheEntry>, WorkError>> + Send + 'a>>;

/// The answers of people in a recorded run, which its replay gives in their place.
pub trait RecordedAnswers: Send + Sync {
    /// Returns the answer to a request; `None`: the recorded run has none to exactly this request. The same request of the
    /// same run always has the same answer.
    fn answer(&self, run: &RunRef, request: &ApprovalRequest) -> Option<ApprovalOutcome>;
}

/// The conversations the agents of a recorded run continued, by the tasks above its run and the attempt.
pub type RecordedConversations = BTreeMap<(Vec<String>, Attempt), PriorConversation>;

/// The knowledge of memory the agents of a recorded run were told, by the tasks above its run and the attempt.
pub type RecordedCalibrations = BTreeMap<(Vec<String>, Attempt), MemoryCalibration>;
