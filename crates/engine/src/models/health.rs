//! The health of called models, in the state shared by all processes.
//!
//! **Invariant:** a state that cannot be read or written refuses no call, and fails none: it stops runs elsewhere.

use std::sync::Arc;

use wf_core::health::{BreakerChange, BreakerNote, CallEnd, CallTarget, OpenBreaker};
use wf_exec::WorkError;
use wf_gateway::{CallHealth, CallHealthFuture};
use wf_store::{CallLedger, Store};

use super::keys::ModelKeys;

/// The health of what is called, as the state has it.
#[derive(Clone, Debug)]
pub(crate) struct StoredHealth(CallLedger);

impl StoredHealth {
    pub(crate) fn new(store: &Store) -> Self {
        Self(store.call_ledger())
    }

    /// Decides about a call. The error is the failure of an attempt needing it.
    pub(crate) async fn admit(&self, target: CallTarget) -> Result<(), WorkError> {
        let admitted = self.decide(target.clone()).await;
        admitted.map_err(|open| WorkError::environmental(format!("{target}: {open}")))
    }

    /// Notes the end of a call, whose error has no secrets. Returns its effect on the breaker.
    pub(crate) async fn note_call(&self, target: CallTarget, end: CallEnd) -> Option<BreakerNote> {
        let change = self.0.note(target.clone(), end).await.ok().flatten();
        change.map(|change| BreakerNote { target, change })
    }

    async fn decide(&self, target: CallTarget) -> Result<(), OpenBreaker> {
        self.0.admit(target).await.unwrap_or(Ok(()))
    }
}

/// The same for models: their errors may repeat a key.
pub(super) struct ModelHealth {
    stored: StoredHealth,
    keys: Arc<ModelKeys>,
}

impl ModelHealth {
    pub(crate) fn new(store: &Store, keys: Arc<ModelKeys>) -> Self {
        Self { stored: StoredHealth::new(store), keys }
    }

    async fn without_keys(&self, end: CallEnd) -> CallEnd {
        match end {
            CallEnd::Success | CallEnd::Contact => end,
            CallEnd::Outage { error } => CallEnd::Outage { error: self.masked(&error).await },
            CallEnd::Rejection { error } => CallEnd::Rejection { error: self.masked(&error).await },
        }
    }

    async fn masked(&self, text: &str) -> String {
        self.keys.mask().await.text(text).into_owned()
    }
}

impl CallHealth for ModelHealth {
    fn admit(&self, target: CallTarget) -> CallHealthFuture<'_, Result<(), OpenBreaker>> {
        Box::pin(self.stored.decide(target))
    }

    fn note(&self, target: CallTarget, end: CallEnd) -> CallHealthFuture<'_, Option<BreakerChange>> {
        Box::pin(async move {
            let end = self.without_keys(end).await;
            self.stored.note_call(target, end).await.map(|note| note.change)
        })
    }
}
