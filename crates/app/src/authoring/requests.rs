use serde_json::Value;

use crate::{CommandError, Host, records::body};
use wf_base::digest::Sha256Digest;
use wf_core::agent::authoring::PlanningRecord;
use wf_report::record::CallBodyError;
use wf_store::{PlanningStore, StateFolder};

/// The requests for plans made in a workspace.
pub struct PlanningRequests(PlanningStore);

impl PlanningRequests {
    /// Returns those of the workspace.
    pub fn of_workspace(host: &Host) -> Self {
        Self(PlanningStore::new(&StateFolder::new(&host.workspace().state)))
    }

    /// Returns the number of the last request.
    pub fn last(&self) -> Result<Option<u32>, CommandError> {
        Ok(self.0.numbers()?.last().copied())
    }

    /// Returns all requests, each with its number.
    pub fn all(&self) -> Result<Vec<(u32, PlanningRecord)>, CommandError> {
        let mut records = Vec::new();
        for number in self.0.numbers()? {
            records.extend(self.0.read(number)?.map(|record| (number, record)));
        }
        Ok(records)
    }

    /// Returns a request by its number.
    pub fn read(&self, number: u32) -> Result<Option<PlanningRecord>, CommandError> {
        Ok(self.0.read(number)?)
    }

    /// Returns a reader of the bodies of the calls of a request.
    pub fn bodies(&self, number: u32) -> impl Fn(&Sha256Digest) -> Result<Value, CallBodyError> {
        let bodies = self.0.bodies(number);
        move |digest| body(&bodies, digest)
    }
}
