//! The local driver: feeds the machine from processes, timers and the store, and carries out
//! its effects once the store has its events.
//!
//! One dispatcher per run owns the machine. It waits only for what happens next and for the
//! store; everything else runs in tasks that it owns and that end with it.

mod observe;

pub use observe::{Observer, RunRef, Stream};
