//! Pages an agent fetches, by the engine: the sandbox of its step stays without network.
//!
//! ```text
//! FetchTarget::parse ──▶ fetch_page ──▶ reachable address ──▶ GET ──▶ text
//! ```
//!
//! **Invariant:** a request goes to a host the plan lists, over https unless that is this machine, and carries nothing
//! but its address. **Invariant:** the address connected to is the one that was checked: no name leads to one of this
//! machine or of a private network. **Invariant:** time, size and kind of what is received are bounded.

mod address;
mod error;
mod html;
mod page;
mod target;

pub use error::FetchAddressMistake;
pub use page::{FetchedPage, fetch_page};
pub use target::FetchTarget;
