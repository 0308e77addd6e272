//! The bodies of calls: requests, replies and results, each by its digest.

use serde::{Serialize, de::DeserializeOwned};

use wf_base::digest::Sha256Digest;
use wf_core::agent::ModelRequest;
use wf_exec::WorkError;
use wf_store::{CallBodyStore, StoreError};

use crate::run::RunContext;

/// The bodies of the calls of a run's agents: requests, replies and results, each by its digest.
#[derive(Clone, Debug)]
pub(crate) struct CallBodies(CallBodyStore);

impl CallBodies {
    /// Returns those of a run.
    pub(crate) fn from_run(run: &RunContext) -> Self {
        let store = &run.session.store;
        Self(CallBodyStore::of(store.blobs(), store.folder().calls(&run.run_ref.id)))
    }

    /// Stores a body; returns its digest.
    pub(crate) async fn store_body<T: Serialize>(&self, body: &T) -> Result<Sha256Digest, StoreError> {
        let bytes = serde_json::to_vec(body).unwrap_or_default();
        self.stored(move |store| store.put_bytes(&bytes)).await
    }

    /// Stores the request of a program; returns its digest.
    pub(crate) async fn put_request(&self, request: &ModelRequest) -> Result<Sha256Digest, StoreError> {
        let request = request.clone();
        self.stored(move |store| store.put_request(&request)).await
    }

    async fn stored(
        &self,
        put: impl FnOnce(&CallBodyStore) -> Result<Sha256Digest, StoreError> + Send + 'static,
    ) -> Result<Sha256Digest, StoreError> {
        let store = self.0.clone();
        let stored = tokio::task::spawn_blocking(move || put(&store)).await;
        stored.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()))
    }

    /// Reads a stored body.
    pub(crate) fn load_body<T: DeserializeOwned>(&self, digest: &Sha256Digest) -> Result<T, WorkError> {
        let lost = |reason: String| WorkError::environmental(format!("the agent cannot go on: {reason}"));
        let bytes = self.0.read(digest).map_err(|error| lost(error.to_string()))?;
        let damaged = |error: serde_json::Error| lost(format!("{}: {error}", self.0.path(digest).display()));
        serde_json::from_slice(&bytes).map_err(damaged)
    }
}
