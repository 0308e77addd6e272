//! Rules about the order of steps: dependencies, circles, waits.
//!
//! **Invariant:** a dependency on a missing step is a mistake for `depends` alone; the other rules look at existing steps.
//!
//! Start at `depends`, with all of them but one: `never` is about steps unable to run.

pub(super) mod depends;
pub(super) mod never;
