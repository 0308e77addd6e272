//! Reports changes of files without polling: `inotify(7)`.
//!
//! Only the fact of a change is reported, not the change: the caller reads the files anew. So an overflow of
//! the kernel's queue, or a whole tree moved in, is just one more change.
//!
//! - A folder counts with all that is below, except hidden files and folders named `target` and
//!   `node_modules`; links to folders are not followed.
//! - A file counts by its name, so that a save by renaming is seen, and so is a file created later.
//!   If it is a link, its target counts, too.
//! - For a path that does not exist yet, the nearest existing folder above is watched.
//! - Changes close together are reported once: after [`QUIET_PERIOD`], at the latest after [`MAX_DELAY`].
//! - A change counts when the writer closes the file; a file that stays open changes unseen.
//!
//! **Invariant:** a folder is watched before its contents are listed, so nothing is missed in between.

mod look;
mod places;
#[cfg(test)]
mod tests;

pub use look::{FileWatcher, MAX_DELAY, QUIET_PERIOD};
