//! The health of the daemon, served on this machine: `/healthz`, `/readyz`, `/metrics`.
//!
//! It is for the machine itself: it listens on loopback addresses only, and answers only requests
//! for such an address by name, so that no page in a browser reads it through a name of its own. It
//! serves a [`DaemonHealth`], which the daemon keeps up to date; a request reads nothing else.
//!
//! Everything is bounded: headers of 8 KiB, [`REQUEST_TIMEOUT`] for the request and again for the answer,
//! [`MAX_CONNECTIONS`] connections at once, one answer for each. Only `GET` and `HEAD` are known.
//!
//! Metrics are in the text format of Prometheus, or in OpenMetrics 1.0 for clients asking for it.

mod address;
mod answer;
mod metrics;
mod serve;
mod state;
#[cfg(test)]
mod tests;

pub use address::{HealthAddressError, address};
pub use metrics::write_goals;
pub use serve::{HealthEndpoint, MAX_CONNECTIONS, REQUEST_TIMEOUT};
pub use state::{ApprovalRest, DaemonHealth, GoalBlockage, GoalHealth};
