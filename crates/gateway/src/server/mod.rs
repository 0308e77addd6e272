//! The gateway's server: programs in a sandbox call models through it, in the format they speak, with a token in
//! place of a key.
//!
//! The formats ([`read_request`], [`write_reply`]) and the routes are pure; [`serve()`] alone has connections.
//!
//! A request keeps the abilities of every model: texts, function calls and their results, a schema of the answer. Thinking,
//! cache marks, metadata and betas are dropped; system and developer texts, wherever they stand, become the system
//! prompt; a tool taking a text of its own grammar becomes a function with this text. A hosted tool, such as a web
//! search, is left out of the tools, so the model cannot call it. An image, or a conversation kept at a provider, is
//! refused.
//!
//! **Invariant:** a request without the token reaches no model, and no header of a client reaches a provider.

mod answer;
mod api;
mod body;
mod reply;
mod request;
mod route;
mod serve;

pub use api::{CallRefusal, ClientApi, ClientCallFuture, ClientCalls, ClientRequest, ClientTool};
pub use reply::{ReplyBody, write_error, write_error_event, write_reply};
pub use request::{RequestError, read_request};
pub use route::{ClientToken, NoRandomBytes};
pub use serve::serve;

#[cfg(test)]
mod tests;
