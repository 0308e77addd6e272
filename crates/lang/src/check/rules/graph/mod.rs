//! Rules about the order of steps: dependencies, circles, waits.
//!
//! **Invariant:** a dependency on a missing step is a mistake for `depends` alone; the other rules look at existing steps.
//!
//! Start at `depends`, then `cycles` and `upstream`.

pub(super) mod cycles;
pub(super) mod depends;
pub(super) mod locks;
pub(super) mod never;
pub(super) mod order;
pub(super) mod upstream;
