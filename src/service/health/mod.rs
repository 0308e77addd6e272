//! Answers whoever asks on this machine how the daemon does: `/healthz`, `/readyz`, `/metrics`.
//!
//! It is for the machine itself: it listens on loopback addresses only, and answers only who asks
//! for such an address by name, so that no page in a browser reads it through a name of its own.
//! What it tells is a [`Health`], which the daemon keeps up to date; a request never asks further.
//!
//! Everything is bounded: headers of 8 KiB, [`LIMIT`] to ask and as long again to answer,
//! [`MOST`] connections at once, one answer for each. Only `GET` and `HEAD` are known.
//!
//! Metrics are in the text format of Prometheus, or in OpenMetrics 1.0 for whom asks for that.

mod address;
mod answer;
mod metrics;
mod serve;
mod state;
#[cfg(test)]
mod tests;

pub use address::{BadAddress, address};
pub use serve::{Endpoint, LIMIT, MOST};
pub use state::{GoalHealth, Health};
