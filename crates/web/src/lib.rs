//! The pages of a workspace, for a browser: what happens in it, what waits for people, what was done.
//!
//! ```text
//! browser ──▶ WebServer ──▶ guard ──▶ pages ──▶ app::views ──▶ state (read only)
//!    ▲        bounded       host,      one a    documents
//!    │        connections   login      view        │
//!    └───────────── HTML ◀── templates ◀───────────┘
//! ```
//!
//! Pages are rendered here and work without scripts. The one script of a page asks for it again when the log has grown
//! (`changes`), so that there is one way in which anything is shown.
//!
//! A browser that may look has opened the one link that `wf serve` printed (`logins`). `guard` refuses requests for other hosts,
//! so that no other site can reach the pages by a name that it controls.
//!
//! A person answers requests with a key that the browser has and the server has not: `pages` draft what is signed and pass
//! on what was signed, and `wf_app::approve` decides whether it counts.
//!
//! **Invariants:** a page shows what is durable. Text of others is escaped, and what would hide in it is visible. Nothing
//! changes the state of the workspace but an answer with a signature that counts, the run that it lets go on, the goals that a browser that may
//! operate pauses, resumes and starts, the runs that it undoes, the suggestions that it decides, and the secrets that it enters where a setup waits for
//! them: these are in no page.

mod address;
mod caller;
mod changes;
mod guard;
mod limits;
mod logins;
mod own_name;
mod pages;
mod rate;
mod respond;
mod server;
mod site;
mod template;

pub use address::{SiteAddress, SiteAddressError};
pub use logins::LinkError;
pub use server::{BindError, WebServer};
pub use site::SiteOptions;

#[cfg(test)]
mod shapes;
#[cfg(test)]
mod tests;
