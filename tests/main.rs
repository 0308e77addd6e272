//! One binary for all integration tests.

mod hostile;
mod layers;
mod machine;
mod schemas;
mod spec;
mod tidy;
