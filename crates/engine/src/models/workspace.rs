//! The models of a workspace outside of runs: the writers of plans ask them.

use std::{path::PathBuf, sync::Arc};

use wf_base::time::Clock;
use wf_core::agent::ModelRequest;
use wf_exec::{HostEnv, ProcessExecutor, secret::PlanSecrets};
use wf_gateway::{
    CallHealth, Gateway, ModelCallResult, ProcessHealth, cassette::Cassette, client::ClientLimits,
};
use wf_model::{ModelDefinition, ModelTable};
use wf_store::{Store, StoreDurability, StoreReader};

use super::{
    call::{mask_exchange, mask_request},
    health::ModelHealth,
    keys::ModelKeys,
};

/// The surroundings of the models of a workspace.
pub struct ModelSurroundings {
    pub models: Arc<ModelTable>,
    /// The environment of this process.
    pub host: Arc<HostEnv>,
    /// The globs of further variables of the environment that may be passed on.
    pub env_pass: Vec<String>,
    /// The workspace's root.
    pub root: PathBuf,
    /// The state folder, which has the secrets of connections.
    pub state: PathBuf,
    pub clock: Arc<dyn Clock>,
}

/// A call of a model outside of runs, without the keys of models.
pub struct WorkspaceCall {
    pub request: ModelRequest,
    pub result: ModelCallResult,
}

/// The way to the models of a workspace outside of runs.
pub struct WorkspaceModels {
    models: Arc<ModelTable>,
    gateway: Gateway,
    keys: Arc<ModelKeys>,
    /// The state, which has the health of the models; `None`: there is none, and this alone does not create one.
    _store: Option<Store>,
}

impl WorkspaceModels {
    /// Creates the way; no key is read yet. A cassette takes all exchanges, or answers all calls.
    pub fn new(surroundings: ModelSurroundings, cassette: Option<Cassette>) -> Self {
        let ModelSurroundings { models, host, env_pass, root, state, clock } = surroundings;
        let passed = wf_exec::environment::passed_variables(&host, &env_pass);
        let keys = Arc::new(ModelKeys::new(&models, |declared| {
            PlanSecrets::new(declared, host, &root, &state, ProcessExecutor::InProcess)
        }));
        let store = StoreReader::open(&state)
            .and_then(|_| Store::open(&state, StoreDurability::Normal, Arc::clone(&clock)));
        let store = store.ok();
        let health: Arc<dyn CallHealth> = match &store {
            Some(store) => Arc::new(ModelHealth::new(store, Arc::clone(&keys))),
            None => Arc::new(ProcessHealth::new(Arc::clone(&clock))),
        };
        let resolver = Arc::clone(&keys);
        let gateway = Gateway::new((*models).clone(), resolver, root, clock);
        let gateway = gateway.with_client(&passed, ClientLimits::default()).with_health(health);
        Self { models, gateway: gateway.with_cassette(cassette.map(Arc::new)), keys, _store: store }
    }

    pub fn table(&self) -> &ModelTable {
        &self.models
    }

    /// Calls a model. The keys of models are masked in both directions.
    pub async fn call(&self, model: &ModelDefinition, request: &ModelRequest) -> WorkspaceCall {
        let mut request = request.clone();
        mask_request(&mut request, &self.keys.mask().await);
        let mut result = self.gateway.call(model, &request).await;
        mask_exchange(&mut request, &mut result, &self.keys.mask().await);
        let result = self.gateway.record(None, model, &request, result).await;
        WorkspaceCall { request, result }
    }

    /// Returns a text without the keys of models.
    pub async fn masked(&self, text: &str) -> String {
        self.keys.mask().await.text(text).into_owned()
    }
}
