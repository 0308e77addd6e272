use std::pin::Pin;

use wf_core::agent::ModelReply;

use super::ClientRequest;

pub type ClientCallFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelReply, CallRefusal>> + Send + 'a>>;

/// The way from the server to models.
pub trait ClientCalls: Send + Sync {
    /// Calls a model. The call is dropped when its client disconnects.
    fn call(&self, request: ClientRequest) -> ClientCallFuture<'_>;
}

/// The reason why a client gets no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRefusal {
    /// The status of HTTP. Clients repeat a request at 429 and from 500 on, and end at any other.
    pub status: u16,
    /// The message for the client.
    pub reason: String,
}

impl CallRefusal {
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }
}
