//! What attempts print, on disk: a plain file of the bytes in the order of their arrival, and
//! beside it an index of which stream they came from and when.
//!
//! A silent attempt has no files. Of more output than the limit the first and the last half are
//! kept, with a note between them. Lines of the two streams are not torn apart.
//!
//! **Invariant:** memory and disk are bounded whatever is printed. **Invariant:** secrets are
//! masked before the first byte reaches the disk or an observer.

mod chunk;
mod cursor;
mod follower;
mod lines;
mod reader;
mod record;
mod segment;
mod tail;
mod target;
#[cfg(test)]
mod tests;
mod writer;

pub use chunk::{Chunk, Stream};
pub use follower::Follower;
pub use reader::{Chunks, read};
pub use tail::tail;
pub use target::{Target, path};
pub use writer::{Writer, Written};
