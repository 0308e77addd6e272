//! The output of an attempt: as it comes and whole, by line and as a page, and what is found in it.
//!
//! `stream` and `lines` are for the script of a page, `merged` is the same of a whole run, `output` is for everyone.

mod lines;
mod merged;
mod stream;

pub(crate) use lines::{lines, output, search};
pub(crate) use merged::{run_lines, run_search};
pub(crate) use stream::{FollowedLog, stream, whole};
