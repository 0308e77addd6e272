//! The services several hosts share, where they do the work of the same runs: the ledgers, kept by the decider about
//! the runs, and the results for reuse.

use std::fmt;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use wf_base::digest::Sha256Digest;
use wf_core::machine::{AttemptUsage, CALL_UNPAID_PREFIX};
use wf_core::run_ledgers::BudgetRefusal;
use wf_exec::WorkError;
use wf_model::EngineFailure;
use wf_store::{BlobStore, CacheEntry};

use super::engine_session::EngineSession;

/// The ledgers of a run and of all runs nested in it, with the amounts any host has set aside for calls.
pub trait SharedLedgers: Send + Sync + fmt::Debug {
    /// Sets an amount aside for the work that asks, until its end is reported. The error is the reason why they cannot be
    /// asked.
    fn claim(&self, claim: WorkClaim) -> FutureClaim;
}

/// An answer of ledgers: the refusal, if a budget does not suffice.
pub type FutureClaim = Pin<Box<dyn Future<Output = Result<Option<BudgetRefusal>, String>> + Send>>;

/// A claim of some work for the calls it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkClaim {
    /// The amount to be set aside instead of the one before: the past usage, and the most of the next call.
    pub wanted: AttemptUsage,
    /// True if the budget of the run itself was asked before.
    pub own_allows: bool,
}

/// The reason why a call is not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpaidCall {
    /// A budget does not suffice.
    #[error("{CALL_UNPAID_PREFIX}: {0}")]
    Budget(BudgetRefusal),
    /// Nobody knows.
    #[error("the budget cannot be asked whether it allows a model call: {0}")]
    Unasked(String),
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

/// Results for reuse several hosts share.
pub trait SharedResults: Send + Sync {
    /// Finds a result, and puts its files among those of a state. The error is the reason why one that is there cannot be
    /// used.
    fn find<'a>(&'a self, key: &'a Sha256Digest, blobs: &'a BlobStore) -> FutureResult<'a>;
}

/// A result looked for.
pub type FutureResult<'a> = Pin<Box<dyn Future<Output = Result<Option<CacheEntry>, String>> + Send + 'a>>;

impl EngineSession {
    /// Has calls paid by ledgers, with the work of other hosts for the same runs.
    pub fn share_ledgers(&self, ledgers: std::sync::Arc<dyn SharedLedgers>) {
        let _ = self.shared.ledgers.set(ledgers);
    }

    /// Finds results also among those shared by other hosts.
    pub fn share_results(&self, results: Box<dyn SharedResults>) {
        let _ = self.shared.results.set(results);
    }
}
