//! One binary for all integration tests.

mod cli;
mod hostile;
mod crash;
mod layers;
mod machine;
mod schemas;
mod spec;
mod support;
mod tidy;
