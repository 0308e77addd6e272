//! One binary for all integration tests.

mod crash;
mod docs;
mod examples;
mod hostile;
mod layers;
mod machine;
mod schemas;
mod spec;
mod support;
mod tidy;
