//! The bus: the messages between the roles of an engine, for any observer.
//!
//! The dispatcher publishes every event once it is durable, and the commands their acts outside of
//! runs. [`MessageBus::publish`] never waits and never fails. A [`BusSubscription`] receives, and can do nothing else:
//! it has no way to a publisher. A tap that is too slow loses messages, and is told how many.
//!
//! **Invariant:** no publisher waits for a listener (artoo, principle 7).

mod action;
mod message;
mod publisher;
mod tap;

pub use action::WorkspaceAction;
pub use message::{ActLogin, BusMessage, BusMessageKind, LogAnchor};
pub use publisher::MessageBus;
pub use tap::{BusDelivery, BusSubscription, BusUnsubscriber};
