use std::pin::Pin;

use wf_core::machine::AttemptUsage;

/// A decision about a further try that is being made.
pub type AllowanceFuture<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// The decision about the further tries of a call, by whoever pays for it.
pub trait TryAllowance: Send {
    /// Decides about another try of a call whose tries have used something so far. The error is the reason why there is
    /// none.
    fn allow(&mut self, usage: AttemptUsage) -> AllowanceFuture<'_>;
}

/// The allowance of a call that nobody limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnlimitedTries;

impl TryAllowance for UnlimitedTries {
    fn allow(&mut self, _: AttemptUsage) -> AllowanceFuture<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}
