//! Secrets: read when first needed, once a run, and never shown.

use std::path::PathBuf;
use std::sync::Arc;

use super::Host;
use crate::model::Secret;
use crate::name::EnvName;

/// A value that must not be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(Arc<str>);

/// Why a secret has no value. Names the secret, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("secret `{name}`: {why}")]
pub struct BadSecret {
    /// Which.
    pub name: EnvName,
    /// Why.
    pub why: String,
}

/// The secrets of a plan.
pub struct Secrets {}

impl Hidden {
    /// The value itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

impl Secrets {
    /// Nothing is read yet.
    pub fn new(_declared: Vec<Secret>, _host: Arc<Host>, _root: PathBuf) -> Self {
        todo!()
    }

    /// A secret's value, read if this is the first time it is asked for.
    pub async fn get(&self, _name: &EnvName) -> Result<Hidden, BadSecret> {
        todo!()
    }

    /// Every value read so far: what a mask must hide.
    pub async fn known(&self) -> Vec<Hidden> {
        todo!()
    }
}
