//! One binary for all integration tests.

mod layers;
mod machine;
mod tidy;
