//! Runs on a real Temporal server, with real workers: `.ci/real` installs the server and runs them.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect fails")]

mod agents;
mod answers;
mod beginnings;
mod budgets;
mod caches;
mod deaths;
mod driven;
mod driver;
mod endings;
mod farm;
mod goals;
mod golden;
mod histories;
mod hosts;
mod locks;
mod memories;
mod mirrors;
mod model_server;
mod nested;
mod nested_driver;
mod nested_mirrors;
mod nested_retries;
mod programs;
mod records;
mod retries;
mod s3;
mod server;
mod sizes;
mod tls;
mod writers;
