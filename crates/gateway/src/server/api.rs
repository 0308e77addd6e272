use std::{collections::BTreeMap, pin::Pin};
use wf_core::agent::{ModelReply, ModelRequest};
use wf_model::ModelApi;

/// A format clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientApi {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenaiChat,
    OpenaiResponses,
}

impl ClientApi {
    /// Returns the format as providers speak it.
    pub fn model_api(self) -> ModelApi {
        match self {
            Self::Anthropic => ModelApi::Anthropic,
            Self::OpenaiChat => ModelApi::Openai,
            Self::OpenaiResponses => ModelApi::OpenaiResponses,
        }
    }
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientRequest {
    /// Its format, and the one of the reply.
    pub api: ClientApi,
    /// The model it names.
    pub model: String,
    /// True if the reply is to be a stream of events.
    pub stream: bool,
    /// True if a stream of Chat Completions is to end with the usage.
    pub includes_usage: bool,
    /// The maximum tokens of the reply; `None`: the client names none.
    pub max_output: Option<u64>,
    /// The tools the reply names in another way than the request to the model does, by the model's name.
    pub renamed_tools: BTreeMap<String, ClientTool>,
    /// The request for the model. Its `max_output` is the client's, else [`wf_model::ModelDefinition::MAX_OUTPUT`].
    pub request: ModelRequest,
}

/// A tool of OpenAI Responses a model is given as a plain function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientTool {
    /// A tool whose only argument is a text. The function has it as the argument `input`.
    Custom,
    /// A function of a namespace. The function's name has both.
    Namespaced {
        namespace: String,
        /// The function's name within it.
        name: String,
    },
}

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
