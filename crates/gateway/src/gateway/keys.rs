use std::pin::Pin;

use wf_model::SecretSource;

use crate::client::ModelKey;

/// The reason why a key cannot be read. Its text never has the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelKeyError(pub String);

/// A key that is being read.
pub type ModelKeyFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelKey, ModelKeyError>> + Send + 'a>>;

/// A source of the keys of models. It is asked before every call, so that a new key needs no restart.
pub trait ModelKeyResolver: Send + Sync {
    fn resolve<'a>(&'a self, source: &'a SecretSource) -> ModelKeyFuture<'a>;
}
