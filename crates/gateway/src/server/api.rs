use std::collections::BTreeMap;

use wf_core::agent::ModelRequest;
use wf_model::ModelApi;

/// A format that clients speak.
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
    /// Its format, which is also that of the reply.
    pub api: ClientApi,
    /// The model that it names.
    pub model: String,
    /// True if the reply is to be a stream of events.
    pub stream: bool,
    /// True if a stream of Chat Completions is to end with the usage.
    pub includes_usage: bool,
    /// The maximum tokens of the reply; `None`: the client names none.
    pub max_output: Option<u64>,
    /// The tools that the reply names in another way than the request to the model does, by the model's name.
    pub renamed_tools: BTreeMap<String, ClientTool>,
    /// The request for the model. Its `max_output` is the client's, else [`wf_model::ModelDefinition::MAX_OUTPUT`].
    pub request: ModelRequest,
}

/// A tool of OpenAI Responses that a model is given as a plain function.
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
