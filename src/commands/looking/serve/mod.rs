//! `wf serve`: the pages of a workspace, or of several, for a browser. `wf daemon --serve` serves the same ones.
//!
//! **Invariant:** the key of a link is in no argument of a program.

mod open;
mod qr;
mod server;
mod site;
mod workspaces;

pub use open::open_page;
pub use server::{ServeArgs, run, serve_in_background};
pub use site::SiteArgs;
pub use workspaces::{open as open_workspaces, workspace_words};
