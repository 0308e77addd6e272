//! Programs working as agents: how they are started, and what their output says.
//!
//! Pure: a [`ClientLaunch`] becomes a [`ClientCommand`], and lines of output become a [`ClientAnswer`]. A program gets
//! the address of the gateway and a token of its attempt, and no key.

mod answer;
mod command;
mod launch;
mod repair;
#[cfg(test)]
mod tests;

pub use answer::{ClientAnswer, ClientOutput};
pub use command::ClientCommand;
pub use launch::ClientLaunch;
pub use repair::repair_prompt;
