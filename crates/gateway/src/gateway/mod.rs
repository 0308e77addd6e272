//! Calls of models: retries, breakers and fallbacks around one call after the other.
//!
//! **Invariant:** whatever a try will be billed is in the result, also that of a reply which broke off.

mod call;
mod ports;
mod result;

pub use call::Gateway;
pub use ports::{
    AllowanceFuture, CallHealth, CallHealthFuture, ModelKeyError, ModelKeyFuture, ModelKeyResolver,
    ProcessHealth, TryAllowance, UnlimitedTries,
};
pub use result::{FailedModelCall, ModelCallError, ModelCallResult};

#[cfg(test)]
mod tests;
