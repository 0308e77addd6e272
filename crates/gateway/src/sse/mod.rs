//! Server-sent events, from bytes in any chunks.
//!
//! **Invariant:** the same bytes give the same events, however they are cut. **Invariant:** an event has a bounded
//! size, and so has what is kept between two chunks.

mod parser;

pub use parser::{SseError, SseEvent, SseParser};

#[cfg(test)]
mod tests;
