//! Calls of models: retries, breakers and fallbacks around one call after the other.
//!
//! **Invariant:** whatever a try will be billed is in the result, also that of a reply which broke off.

mod allowance;
mod call;
mod health;
mod keys;
mod result;

pub use allowance::{AllowanceFuture, TryAllowance, UnlimitedTries};
pub use call::Gateway;
pub use health::{CallHealth, CallHealthFuture, ProcessHealth};
pub use keys::{ModelKeyError, ModelKeyFuture, ModelKeyResolver};
pub use result::{FailedModelCall, ModelCallError, ModelCallResult};

#[cfg(test)]
mod tests;
