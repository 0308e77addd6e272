//! The keys of models, and the way of a session to its models.

use std::sync::Arc;

use wf_base::{name::EnvName, redact::SecretMask};
use wf_exec::secret::PlanSecrets;
use wf_gateway::{
    Gateway, ModelKeyError, ModelKeyFuture, ModelKeyResolver,
    client::{ClientLimits, ModelKey},
};
use wf_model::{ModelTable, SecretDeclaration, SecretSource};

use super::health::ModelHealth;
use crate::session::EngineSession;

/// The keys of the models of a workspace. They are masked like the secrets of plans.
pub(super) struct ModelKeys {
    secrets: PlanSecrets,
    declared: Vec<SecretDeclaration>,
}

/// Returns the gateway to the models of the workspace.
pub(crate) fn gateway(session: &EngineSession) -> &Gateway {
    session.shared.gateway.get_or_init(|| {
        let keys = Arc::new(model_keys(session));
        let clock = Arc::clone(&session.clock);
        let health = Arc::new(ModelHealth::new(&session.store, Arc::clone(&keys)));
        let gateway = Gateway::new((*session.models).clone(), keys, session.root.clone(), clock);
        let gateway = gateway.with_client(&session.shared.passed_env, ClientLimits::default());
        gateway.with_health(health).with_cassette(session.shared.cassette.get().cloned())
    })
}

fn model_keys(session: &EngineSession) -> ModelKeys {
    let (host, state) = (Arc::clone(&session.host), session.store.folder().path());
    ModelKeys::new(&session.models, |declared| {
        let secrets = PlanSecrets::new(declared, host, &session.root, state, session.executor.clone());
        secrets.with(session.shared.redactions.clone())
    })
}

impl ModelKeys {
    /// Declares the keys of models; none is read yet.
    pub(crate) fn new(
        models: &ModelTable,
        secrets: impl FnOnce(Vec<SecretDeclaration>) -> PlanSecrets,
    ) -> Self {
        let sources = models.models.values().filter_map(|model| model.key.clone());
        let declared: Vec<SecretDeclaration> = (1_usize..)
            .zip(sources)
            .filter_map(|(number, source)| {
                let name = EnvName::parse(&format!("MODEL_KEY_{number}")).ok()?;
                Some(SecretDeclaration { name, source, masked: true })
            })
            .collect();
        Self { secrets: secrets(declared.clone()), declared }
    }

    /// Returns the mask of the known keys.
    pub(crate) async fn mask(&self) -> SecretMask {
        self.secrets.redactions().await.mask()
    }
}

impl ModelKeyResolver for ModelKeys {
    fn resolve<'a>(&'a self, source: &'a SecretSource) -> ModelKeyFuture<'a> {
        Box::pin(async move {
            let unknown = || ModelKeyError("its source is not in wf.yaml".into());
            let declared = self
                .declared
                .iter()
                .find(|declared_source| declared_source.source == *source)
                .ok_or_else(unknown)?;
            let secret = self.secrets.get_secret(&declared.name).await;
            let secret = secret.map_err(|unread| ModelKeyError(unread.error.to_string()))?;
            // From now on it is masked everywhere.
            drop(self.secrets.known().await);
            ModelKey::new(secret.expose()).map_err(|error| ModelKeyError(error.to_string()))
        })
    }
}
