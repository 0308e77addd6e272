//! The interface for programs: what pages show and do, as JSON, below `/api/v1`.
//!
//! ```text
//! table ──▶ route ──▶ the router of the site          runs, plans, requests, streams, workspaces: one handler an operation
//!   └─────▶ document: the OpenAPI document            problem: the one form of a refusal · extract: what is sent
//! ```
//!
//! One table mounts the operations and describes them, so the document has each of them, with the types of `wf_app::api` that it
//! takes and returns. A program sends its key as `Authorization: Bearer KEY`; it has the access of a login, passes the same
//! limits, and what it does is recorded with its name.
//!
//! **Invariant:** whatever is refused below `/api/` is refused in the form of [`problem`], by whichever layer.
//!
//! Start at `table`.

mod document;
mod extract;
mod plans;
pub(crate) mod problem;
mod requests;
mod route;
mod runs;
mod streams;
mod table;
mod workspaces;

pub(crate) use document::document;
pub use document::openapi;
pub(crate) use table::{PREFIX, is_address, router, server_router};
