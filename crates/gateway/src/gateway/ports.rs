//! The ports of the gateway, provided by its caller: allowances, health, keys.

use crate::client::ModelKey;
use std::{
    collections::BTreeMap,
    error::Error,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};
use wf_base::time::{Clock, Moment};
use wf_core::{
    health::{BreakerChange, CallEnd, CallTarget, OpenBreaker, TargetHealth},
    machine::AttemptUsage,
};
use wf_model::SecretSource;

/// The payer's reason for no further try.
pub type TryRefusal = Box<dyn Error + Send + Sync>;

/// A pending decision about a further try.
pub type AllowanceFuture<'a> = Pin<Box<dyn Future<Output = Result<(), TryRefusal>> + Send + 'a>>;

/// The decision about the further tries of a call, by whoever pays for it.
pub trait TryAllowance: Send {
    /// Decides about another try of a call after the usage of the tries so far.
    fn allow(&mut self, usage: AttemptUsage) -> AllowanceFuture<'_>;
}

/// The allowance of a call nobody limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnlimitedTries;

impl TryAllowance for UnlimitedTries {
    fn allow(&mut self, _: AttemptUsage) -> AllowanceFuture<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A decision that is being made.
pub type CallHealthFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The health of models, shared by all callers. It has no errors: a call does not depend on the record of others.
pub trait CallHealth: Send + Sync {
    /// Decides about a call.
    fn admit(&self, target: CallTarget) -> CallHealthFuture<'_, Result<(), OpenBreaker>>;

    /// Notes the end of a call. Returns the change of the breaker.
    fn note(&self, target: CallTarget, end: CallEnd) -> CallHealthFuture<'_, Option<BreakerChange>>;
}

/// The health of what this process alone calls, where there is no state.
pub struct ProcessHealth {
    clock: Arc<dyn Clock>,
    targets: Mutex<BTreeMap<CallTarget, TargetHealth>>,
}

impl ProcessHealth {
    /// Creates the health of targets that were not called yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, targets: Mutex::default() }
    }

    fn change<T: Send + 'static>(
        &self,
        target: CallTarget,
        decide: impl FnOnce(&mut TargetHealth, Moment) -> T,
    ) -> CallHealthFuture<'_, T> {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        let decided = decide(targets.entry(target).or_default(), self.clock.now());
        Box::pin(std::future::ready(decided))
    }
}

impl CallHealth for ProcessHealth {
    fn admit(&self, target: CallTarget) -> CallHealthFuture<'_, Result<(), OpenBreaker>> {
        self.change(target, TargetHealth::admit)
    }

    fn note(&self, target: CallTarget, end: CallEnd) -> CallHealthFuture<'_, Option<BreakerChange>> {
        self.change(target, |health, now| health.note(&end, now))
    }
}

/// The reason why a key cannot be read. Its text never has the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelKeyError(pub String);

/// A key that is being read.
pub type ModelKeyFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelKey, ModelKeyError>> + Send + 'a>>;

/// A source of the keys of models. It is asked before every call, so a new key needs no restart.
pub trait ModelKeyResolver: Send + Sync {
    fn resolve<'a>(&'a self, source: &'a SecretSource) -> ModelKeyFuture<'a>;
}
