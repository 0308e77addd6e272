use std::time::Duration;

use tokio::time::Instant;
use wf_base::{
    name::Name,
    time::{Clock, Moment},
};
use wf_core::agent::{Message, ModelRequest};
use wf_model::{ModelApi, ModelDefinition, ModelTable, SecretSource};

use crate::{ModelKeyError, ModelKeyFuture, ModelKeyResolver, client::ModelKey};

/// A clock that follows tokio's, which tests can pause.
pub(crate) struct CountedClock(Instant);

impl CountedClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for CountedClock {
    fn now(&self) -> Moment {
        Moment::from_millis(1_700_000_000_000).after(self.0.elapsed())
    }
}

/// A resolver for models without keys.
pub(crate) struct NoKeys;

impl ModelKeyResolver for NoKeys {
    fn resolve<'a>(&'a self, _: &'a SecretSource) -> ModelKeyFuture<'a> {
        Box::pin(async { Err(ModelKeyError("there is none".into())) })
    }
}

/// A resolver of one key.
pub(crate) struct OneKey(pub(crate) &'static str);

impl ModelKeyResolver for OneKey {
    fn resolve<'a>(&'a self, _: &'a SecretSource) -> ModelKeyFuture<'a> {
        Box::pin(async { Ok(ModelKey::new(self.0).unwrap()) })
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn definition(own: &str, api: ModelApi, model: &str) -> ModelDefinition {
    ModelDefinition {
        name: name(own),
        api,
        model: model.into(),
        base_url: None,
        key: None,
        context_window: ModelDefinition::CONTEXT_WINDOW,
        max_output: ModelDefinition::MAX_OUTPUT,
        price: None,
        timeout: Duration::from_secs(20),
        fallback: Vec::new(),
    }
}

pub(crate) fn table(models: &[ModelDefinition]) -> ModelTable {
    let models = models.iter().map(|model| (model.name.clone(), model.clone())).collect();
    ModelTable { models, ..ModelTable::default() }
}

pub(crate) fn request(text: &str) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".into(),
        messages: vec![Message::User { text: text.into() }],
        tools: Vec::new(),
        answer_schema: None,
        max_output: 1_000,
        temperature: None,
    }
}
