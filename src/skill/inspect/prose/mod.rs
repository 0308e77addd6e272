//! What a text tells whoever obeys it: an agent follows SKILL.md, and what it names, like a program.
//!
//! A text is cut into [passages](parts), in which [commands], [orders](says), [blobs](encoded) and
//! what [nobody sees](unseen) are looked for. What a passage [warns of](mood) is a description and
//! no instruction: it is told, and refuses nothing. A fence, a comment and a table are read like
//! any other part of the text.

mod commands;
mod encoded;
mod leaves;
mod mood;
mod obeyed;
mod parts;
mod places;
mod says;
mod transposed;
mod unseen;

pub(super) use leaves::{is_credential, keeps_credentials, owner};
pub(super) use mood::describes;
pub(super) use obeyed::{described, program, prose};
pub(super) use parts::{Passage, passages};
pub(super) use places::{addresses, host, is_publisher};
