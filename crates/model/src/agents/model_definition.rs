use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use wf_base::{digest::Sha256Digest, keywords, name::Name};

use crate::{
    costs::model_price::ModelPrice,
    programs::script::SecretSource,
    summary::{RecordView, SummaryBuilder},
};

/// A model a workspace may call, as `wf.yaml` defines it.
#[derive(Clone, Debug, Serialize)]
pub struct ModelDefinition {
    /// Its name in the workspace.
    pub name: Name,
    /// The wire format of its provider.
    pub api: ModelApi,
    /// The provider's name of it; with [`ModelApi::Scripted`] the path of the script, relative to the workspace.
    pub model: String,
    /// The address of its provider; `None`: the provider's own.
    pub base_url: Option<String>,
    /// The source of its key; `None`: it needs none.
    pub key: Option<SecretSource>,
    /// The tokens a request and its reply may take together.
    pub context_window: u64,
    /// The maximum tokens of a reply.
    pub max_output: u64,
    /// Its prices; `None`: its calls cost nothing.
    pub price: Option<ModelPrice>,
    /// The maximum time of a call.
    pub timeout: Duration,
    /// The models that are called if it fails, in order.
    pub fallback: Vec<Name>,
}

impl ModelDefinition {
    /// The default of `context_window`.
    pub const CONTEXT_WINDOW: u64 = 128_000;
    /// The default of `max_output`.
    pub const MAX_OUTPUT: u64 = 8_192;
    /// The default of `timeout`.
    pub const TIMEOUT: Duration = Duration::from_mins(5);
}

keywords! {
    listed
    /// The wire format of a provider.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ModelApi {
        /// Anthropic Messages.
        Anthropic = "anthropic",
        /// OpenAI Chat Completions.
        Openai = "openai",
        /// OpenAI Responses.
        OpenaiResponses = "openai_responses",
        /// Replies from a file of the workspace, for tests and examples.
        Scripted = "scripted",
    }
}

/// The choice of a model. A model never makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoice {
    /// A model by its name in `wf.yaml`.
    Model(Name),
    /// A role, which `wf.yaml` gives a model.
    Role(Name),
}

impl RecordView for ModelChoice {
    fn view(&self, summary: &mut SummaryBuilder) {
        match self {
            Self::Model(name) => lines!(summary in Work { plain "model" = name }),
            Self::Role(name) => lines!(summary in Work { plain "role" = name }),
        }
    }
}

/// A server of the Model Context Protocol whose tools agents may call, as `wf.yaml` defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name in the workspace.
    pub name: Name,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The tools agents may call, by the server's names of them.
    pub tools: Vec<String>,
    /// The digest of their names, descriptions and schemas, as somebody reviewed them; `None`: nobody has.
    pub digest: Option<Sha256Digest>,
}

impl McpServer {
    /// The maximum length of the name of a tool for a model, the limit of providers.
    pub const MAX_TOOL_NAME: usize = 64;

    /// Returns the name of a tool for a model.
    pub fn tool_name(&self, tool: &str) -> String {
        format!("{}__{tool}", self.name)
    }
}

/// The models of a workspace, the roles they have, and the servers whose tools they may call.
#[derive(Clone, Debug, Default)]
pub struct ModelTable {
    pub models: BTreeMap<Name, ModelDefinition>,
    /// The model of each role.
    pub roles: BTreeMap<Name, Name>,
    pub servers: BTreeMap<Name, McpServer>,
}

impl ModelTable {
    /// Returns the chosen model, if it is defined.
    pub fn find(&self, choice: &ModelChoice) -> Option<&ModelDefinition> {
        let name = match choice {
            ModelChoice::Model(name) => name,
            ModelChoice::Role(role) => self.roles.get(role)?,
        };
        self.models.get(name)
    }

    /// Returns a price at which no call of a model costs less, whichever of its fallbacks replies. `None` if none has a
    /// price.
    pub fn dearest_price(&self, model: &ModelDefinition) -> Option<ModelPrice> {
        let fallbacks = model.fallback.iter().filter_map(|name| self.models.get(name)?.price);
        model.price.into_iter().chain(fallbacks).reduce(ModelPrice::dearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::money::Money;

    fn model(name: &str, price: Option<[u64; 2]>, fallback: &[&str]) -> ModelDefinition {
        let price = price.map(|price| {
            let [input, output] = price.map(Money::of_micros);
            ModelPrice { input, output, ..ModelPrice::default() }
        });
        ModelDefinition {
            name: Name::parse(name).unwrap(),
            api: ModelApi::Scripted,
            model: "replies.yaml".into(),
            base_url: None,
            key: None,
            context_window: ModelDefinition::CONTEXT_WINDOW,
            max_output: ModelDefinition::MAX_OUTPUT,
            price,
            timeout: ModelDefinition::TIMEOUT,
            fallback: fallback.iter().map(|name| Name::parse(name).unwrap()).collect(),
        }
    }

    #[test]
    fn a_call_is_reserved_at_the_dearest_price_of_its_fallbacks() {
        let models = [
            model("cheap", Some([1, 9]), &["dear", "free", "missing"]),
            model("dear", Some([5, 7]), &[]),
            model("free", None, &["dear"]),
            model("gift", None, &[]),
        ];
        let models = models.map(|model| (model.name.clone(), model));
        let table = ModelTable { models: models.into_iter().collect(), ..ModelTable::default() };
        let price = |name: &str| {
            let price = table.dearest_price(&table.models[&Name::parse(name).unwrap()])?;
            Some([price.input, price.output, price.cached_input.unwrap_or(price.input)].map(Money::micros))
        };
        assert_eq!(price("cheap"), Some([5, 9, 5]));
        assert_eq!(price("dear"), Some([5, 7, 5]));
        assert_eq!(price("free"), Some([5, 7, 5]));
        assert_eq!(price("gift"), None);
    }
}
