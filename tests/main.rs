//! One binary for all integration tests.

mod cli;
mod hostile;
mod layers;
mod machine;
mod schemas;
mod spec;
mod tidy;
