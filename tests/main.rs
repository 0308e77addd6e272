//! One binary for all integration tests.

mod crash;
mod hostile;
mod layers;
mod machine;
mod schemas;
mod secrets;
mod spec;
mod support;
mod tidy;
