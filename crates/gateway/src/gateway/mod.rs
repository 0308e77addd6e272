//! Calls of models: retries, breakers and fallbacks around one call after the other.
//!
//! **Invariant:** the whole bill of a try is in the result, also of a reply broken off.

mod call;
mod ports;
mod result;

pub use call::Gateway;
pub use ports::{
    AllowanceFuture, CallHealth, CallHealthFuture, ModelKeyError, ModelKeyFuture, ModelKeyResolver,
    ProcessHealth, TryAllowance, TryRefusal, UnlimitedTries,
};
pub use result::{FailedModelCall, ModelCallError, ModelCallResult};

#[cfg(test)]
mod tests;
