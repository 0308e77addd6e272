//! The bus: what goes on between the roles of an engine, for whoever wants to see it.
//!
//! The dispatcher publishes every event once it is durable, and the commands what they do outside
//! of runs. [`Bus::publish`] never waits and never fails. A [`Tap`] receives, and can do nothing
//! else: it has no way to a publisher. A tap that is too slow loses messages; how many, it is told.
//!
//! **Invariant:** nobody who publishes waits for anybody who listens (artoo, principle 7).

mod message;
mod publisher;
mod tap;

pub use message::{Act, Bound, Message, What};
pub use publisher::Bus;
pub use tap::{Heard, Leave, Tap};
