//! Recorded exchanges with models: a cassette is a folder of them, to repeat a run from without a provider.
//!
//! The [exchange](RecordedExchange) and the comparison of requests are pure; [`Cassette`] alone reads and writes files.
//!
//! **Invariant:** a file of a cassette has its name only when it is complete, and it is readable by its owner alone.
//! **Invariant:** a recording does not have the path of the workspace, so it can be replayed in another place.
//! **Invariant:** a conversation takes space once: the recording of a request has only the messages after those of an
//! earlier one.
//! **Invariant:** a replay makes no request and reads no key.

mod difference;
mod exchange;
mod folder;
mod portable;
mod replay;

pub use difference::{RequestDifference, RequestPart};
pub use exchange::{RecordedExchange, RecordedFailure, RecordedOutcome, request_digest};
pub use folder::{Cassette, CassetteError};
pub use portable::{from_portable, to_portable};
pub use replay::NO_RECORDED_REPLY;

#[cfg(test)]
mod tests;
