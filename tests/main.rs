//! One binary for all integration tests.

mod crash;
mod layers;
mod machine;
mod support;
mod tidy;
