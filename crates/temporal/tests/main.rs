//! Runs on a real Temporal server, with real workers: `.ci/real` installs the server and runs them.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect fails")]

mod agents;
mod answers;
mod deaths;
mod driver;
mod endings;
mod farm;
mod goals;
mod hosts;
mod mirrors;
mod programs;
mod records;
mod server;
mod writers;
