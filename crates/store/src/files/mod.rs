//! The state folder: its paths, and the files in it beside the database.
//!
//! Results and the texts of calls lie under their digests, so equal content is stored once. `folder` has all paths and
//! the settings of a state, and refuses anything but regular files; `blobs` has the files under digests, `compared_file` reads one for others, `call_bodies` the
//! requests to models and their replies, `planning` the requests for plans, `reserve` the space kept free for the database.
//!
//! **Invariant:** a file under a digest is complete, or it is not there; what was altered since is refused when it is
//! read.
//!
//! Start at `folder`, then `blobs`.

pub(crate) mod blobs;
pub(crate) mod call_bodies;
pub(crate) mod compared_file;
pub(crate) mod folder;
pub(crate) mod planning;
pub(crate) mod reserve;
