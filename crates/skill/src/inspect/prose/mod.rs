//! Instructions to an agent: it follows SKILL.md and the files named there like a program.
//!
//! A text is split into [passages](parts), which are searched for [commands, instructions and invisible text](commands)
//! and for [blobs](encoded). Text a passage [warns of](mood) is a
//! description: it is reported, and refuses nothing. Fences, comments and tables are read like any
//! other text.

mod commands;
mod encoded;
mod leaves;
mod mood;
mod obeyed;
mod parts;
mod places;
mod transposed;

pub(super) use leaves::{is_credential, keeps_credentials, owner};
pub(super) use mood::is_description;
pub(super) use obeyed::{descriptions_at, program, prose};
pub(super) use parts::{TextPassage, passages};
pub(super) use places::{addresses, host, is_publisher};
