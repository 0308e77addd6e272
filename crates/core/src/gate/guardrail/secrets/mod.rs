//! Keys, tokens and passwords.
//!
//! Most are recognized by their prefix and length; if the issuer has published a check value, that
//! must be correct, too. **Invariant:** placeholders are not secrets.

mod assigned;
mod pem;
mod random;
mod search;
mod tokens;

pub use assigned::KEYWORDS;
pub(super) use assigned::names_secret;
pub(super) use random::is_random;
pub(super) use search::search;
pub use tokens::{SecretTokenKind, TOKENS};
