//! One binary for all integration tests.

mod cli;
mod crash;
mod hostile;
mod layers;
mod machine;
mod schemas;
mod spec;
mod support;
mod tidy;
