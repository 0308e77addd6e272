//! Files of a workspace and of results: found by globs, opened below a folder, compared, kept and put back.
//!
//! ```text
//! globs ──▶ files ──▶ confined_dir: opened part by part, below the root
//! a result  evidence: the digests that were checked;  cache: the key of a step;  cached_files: what a key stands for
//! ```
//!
//! It starts no process and knows no step. **Invariant:** no path leads out of its folder, in spite of any links, and
//! of renames meanwhile. **Invariant:** a version of a file is a [`FileStamp`](files::FileStamp), and nothing else.
//!
//! Start at `confined_dir`, then `files`; the others can be read alone.

pub mod cache;
pub mod cached_files;
pub mod confined_dir;
pub mod evidence;
pub mod files;
