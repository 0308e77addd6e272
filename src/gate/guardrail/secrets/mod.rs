//! Keys, tokens and passwords.
//!
//! Most are known by their beginning and their length; where who gives them out has published how
//! a check value is made, that must be right too. **Invariant:** placeholders are no secrets.

mod assigned;
mod pem;
mod random;
mod search;
mod tokens;

pub use assigned::KEYWORDS;
pub(super) use assigned::names_secret;
pub(super) use random::is_random;
pub(super) use search::search;
pub use tokens::{TOKENS, Token};
