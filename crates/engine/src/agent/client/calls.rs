//! The queue of the requests of a program.

use tokio::sync::{mpsc, oneshot};

use wf_core::agent::{ModelReply, ModelRequest};
use wf_gateway::server::{CallRefusal, ClientCallFuture, ClientCalls, ClientRequest};
use wf_model::ModelDefinition;

/// The status of all refusals: clients do not repeat such a request.
const BAD_REQUEST: u16 = 400;

/// A request of a program waiting for its reply.
pub(super) struct PendingCall {
    pub(super) request: ModelRequest,
    pub(super) reply: oneshot::Sender<Result<ModelReply, CallRefusal>>,
}

/// The calls of a program: a queue where its requests wait for their turn.
pub(super) struct CallQueue {
    pub(super) model: ModelDefinition,
    pub(super) queue: mpsc::Sender<PendingCall>,
}

impl ClientCalls for CallQueue {
    fn call(&self, client_request: ClientRequest) -> ClientCallFuture<'_> {
        Box::pin(async move {
            if client_request.model != self.model.name.as_str() {
                return Err(refuse(format!(
                    "this step works with the model `{}`, and `{}` is not available to it",
                    self.model.name, client_request.model
                )));
            }
            let mut request = client_request.request;
            let most = self.model.max_output;
            request.max_output = client_request.max_output.unwrap_or(most).min(most);
            let (reply, answer) = oneshot::channel();
            let over = || refuse("the attempt is over".to_owned());
            self.queue.send(PendingCall { request, reply }).await.map_err(|_| over())?;
            answer.await.unwrap_or_else(|_| Err(over()))
        })
    }
}

/// Refuses a request, so the program does not repeat it.
pub(super) fn refuse(reason: String) -> CallRefusal {
    CallRefusal::new(BAD_REQUEST, reason)
}
