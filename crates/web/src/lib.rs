//! The pages of workspaces, for a browser: what happens in them, what waits for people, what was done.
//!
//! ```text
//! browser ──▶ WebServer ──▶ guard ──▶ pages ──▶ app::views ──▶ state (read only)
//!    ▲        bounded       host,      one a    documents
//!    │        connections   login      view        │
//!    └───────────── HTML ◀── templates ◀───────────┘
//! ```
//!
//! A server has one workspace, or several, each with all pages below an address of its own (`workspaces`).
//!
//! Pages are rendered here and work without scripts. The one script of a page asks for it again when the log has grown
//! (`changes`), so there is one way anything is shown.
//!
//! A browser allowed to look has opened the one link printed by `wf serve` (`logins`). `guard` refuses requests for other hosts,
//! so no other site can reach the pages by a name under its control.
//!
//! Programs ask for the same as JSON, and do the same (`api`): small documents of their own, which stay as they are.
//!
//! A person answers requests with a key of the browser unknown to the server: `pages` draft the text to sign and pass
//! on the signed one, and `wf_app::approve` decides whether it counts.
//!
//! **Invariants:** a page shows durable facts. Text of others is escaped, and hidden characters in it are visible. Nothing
//! changes the state of the workspace but an answer with a valid signature, the run continued by it, the goals paused, resumed and started by
//! a browser allowed to operate, the runs it undoes, the suggestions it decides, the secrets it enters where a setup waits for them, which are in
//! no page, and the plans started by a browser allowed to do that.

mod address;
mod api;
mod assets;
mod caller;
mod changes;
mod guard;
mod limits;
mod login_table;
mod logins;
mod own_name;
mod pages;
mod query;
mod rate;
mod respond;
mod server;
mod site;
mod state_mark;
mod template;
mod visit;
mod workspaces;

pub use address::{SiteAddress, SiteAddressError};
pub use api::openapi;
pub use login_table::LoginAccess;
pub use logins::LinkError;
pub use server::{BindError, ProgramToken, WebServer, add_link, add_token, open_logins, served_address};
pub use site::SiteOptions;
pub use workspaces::{NamedWorkspace, ServedFolder, WorkspaceNameError};

#[cfg(test)]
mod shapes;
#[cfg(test)]
mod tests;
