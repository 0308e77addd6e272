use serde::Serialize;
use serde::de::DeserializeOwned;

use wf_base::digest::Sha256Digest;
use wf_exec::WorkError;
use wf_store::{BlobStore, StoreError};

use crate::run::RunContext;

/// The bodies of the calls of a run's agents: requests, replies and results, each by its digest.
#[derive(Clone, Debug)]
pub(super) struct CallBodies(BlobStore);

impl CallBodies {
    /// Returns those of a run.
    pub(super) fn of(run: &RunContext) -> Self {
        let store = &run.session.store;
        Self(store.blobs().in_folder(store.folder().calls(&run.run_ref.id)))
    }

    /// Stores a body; returns its digest.
    pub(super) async fn put<T: Serialize>(&self, body: &T) -> Result<Sha256Digest, StoreError> {
        let bytes = serde_json::to_vec(body).unwrap_or_default();
        let store = self.0.clone();
        let stored = tokio::task::spawn_blocking(move || store.put_bytes(&bytes)).await;
        stored.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()))
    }

    /// Reads a stored body.
    pub(super) fn get<T: DeserializeOwned>(&self, digest: &Sha256Digest) -> Result<T, WorkError> {
        let lost = |reason: String| WorkError::environmental(format!("the agent cannot go on: {reason}"));
        let bytes = self.0.read(digest).map_err(|error| lost(error.to_string()))?;
        let damaged = |error: serde_json::Error| lost(format!("{}: {error}", self.0.path(digest).display()));
        serde_json::from_slice(&bytes).map_err(damaged)
    }
}
