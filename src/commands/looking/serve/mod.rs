//! `wf serve`: the pages of a workspace, for a browser.
//!
//! **Invariant:** the key of a link is in no argument of a program.

mod open;
mod server;

pub use open::open_page;
pub use server::{ServeArgs, run};
