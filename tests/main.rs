//! One binary for all integration tests.

mod layers;
mod machine;
mod schemas;
mod spec;
mod tidy;
