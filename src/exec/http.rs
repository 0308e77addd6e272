//! Requests.

use std::time::Duration;

use tokio::sync::watch;

use super::{Host, OnOutput, Stop, Unable, attempt::Finished, log};
use crate::expr::Scope;
use crate::model::{Http, Output};
use crate::name::Name;

/// A request, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Ask {
    /// `GET`, `POST` …
    pub method: String,
    /// Where to.
    pub url: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body, if one is sent.
    pub body: Option<String>,
    /// Accepted status codes; empty: any from 200 to 299.
    pub expect: Vec<u16>,
    /// Outputs by the JSON path of their value in the answer's body.
    pub outputs: Vec<(Name, String)>,
}

/// A request and its limits.
pub struct Job {
    /// The request.
    pub ask: Ask,
    /// The longest it may take.
    pub timeout: Option<Duration>,
    /// Where the answer's body is kept.
    pub log: log::Target,
    /// The values that the answer must give.
    pub outputs: Vec<Output>,
}

/// Sends requests. Costs nothing until the first one.
#[derive(Debug, Default)]
pub struct Client {}

impl Ask {
    /// Renders a request.
    pub fn new(_http: &Http, _scope: &dyn Scope) -> Result<Self, Unable> {
        todo!()
    }
}

impl Client {
    /// A client that uses the proxies that `passed`, the part of the engine's environment that
    /// steps may see, names.
    pub fn new(_passed: &Host) -> Self {
        todo!()
    }

    /// Sends a request and keeps its answer.
    pub async fn run(
        &self,
        _job: Job,
        _stop: watch::Receiver<Stop>,
        _on_output: Option<OnOutput>,
    ) -> Finished {
        todo!()
    }
}
