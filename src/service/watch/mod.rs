//! Tells when files change, without looking at them again and again: `inotify(7)`.
//!
//! What counts is that something changed, not what: whoever hears it reads the files anew. So a
//! queue of the kernel that ran over, or a whole tree that was moved in, is just one more change.
//!
//! - Of the folders given, all that is below counts, but for what is hidden and for folders named
//!   `target` and `node_modules`; links to folders are not followed.
//! - Of a file given, its name counts, so that a save by renaming is seen, and so is a file that
//!   comes later. Where it is a link, what it leads to counts, too.
//! - Of what does not exist yet, the nearest folder above that exists is watched.
//! - Changes that come close together are told once: after [`QUIET`], at the latest after [`LONGEST`].
//! - A file counts when it was closed by who wrote it; one that stays open changes unseen.
//!
//! **Invariant:** a folder is watched before what is in it is listed, so nothing slips in between.

mod look;
mod places;
#[cfg(test)]
mod tests;

pub use look::{LONGEST, QUIET, Watch};
