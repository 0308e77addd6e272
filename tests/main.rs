//! One binary for all integration tests.

mod bad_input;
mod cli;
mod crash;
mod docs;
mod examples;
mod hostile;
mod layers;
mod machine;
mod schemas;
mod secrets;
mod spec;
mod support;
mod tidy;
