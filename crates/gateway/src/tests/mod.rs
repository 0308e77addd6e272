//! Parts of the tests of this crate: requests, and a server on this machine.

mod sample;
mod server;

pub(crate) use sample::{CountedClock, NoKeys, OneKey, definition, name, request, table};
pub(crate) use server::{CannedReply, TestServer};
