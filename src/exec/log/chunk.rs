use crate::time::Moment;

/// Where output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or the body of an answer.
    Out,
    /// Standard error.
    Err,
    /// A line of the engine itself: that something was left out, or killed.
    Note,
}

/// A part of a log: bytes of one stream that came at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it came from.
    pub stream: Stream,
    /// When the first of it came.
    pub at: Moment,
    /// What; at most 64 KiB.
    pub bytes: Vec<u8>,
}
