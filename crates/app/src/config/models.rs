use std::collections::{BTreeMap, BTreeSet};

use wf_base::{
    diag::{Code, Diagnostic, nearest},
    name::Name,
    source::Spanned,
};
use wf_gateway::client::ProviderAddress;
use wf_lang::{
    ast::SecretSpec,
    decode::{DurationText, LowerSpec, MappingFields, OrderedEntries, SpecDecoder, record},
};
use wf_model::{ModelApi, ModelDefinition, ModelPrice, ModelTable, Money};

record! {
    /// A model steps and gates may use.
    pub struct ModelSection as "a model" {
        /// The wire format of its provider.
        required api: Spanned<ModelApi>,
        /// The provider's name of it; with `api: scripted`, the path of the file with its replies, relative to the
        /// workspace.
        required model: Spanned<String>,
        /// The address of its provider, up to the version: the provider's own if absent.
        optional base_url: Spanned<String>,
        /// The key for the provider, and its source.
        optional key: Spanned<SecretSpec>,
        /// The tokens a request and its reply may take together: 128000 if absent.
        optional context_window: Spanned<u64>,
        /// The maximum tokens of a reply: 8192 if absent.
        optional max_output: Spanned<u64>,
        /// The prices of its tokens: nothing if absent.
        optional price: PriceSection,
        /// The time limit of a call: 5m if absent.
        optional timeout: Spanned<DurationText>,
        /// The models called on its failure, in order.
        default fallback: Vec<Spanned<Name>>,
    }
    finish check_model;
}

record! {
    /// The prices of a million tokens, in US dollars.
    pub struct PriceSection as "the price" {
        /// Of input tokens.
        required input: Spanned<f64>,
        /// Of output tokens.
        required output: Spanned<f64>,
        /// Of input tokens from the provider's cache: as of others if absent.
        optional cached_input: Spanned<f64>,
        /// Of input tokens put into the provider's cache, for later calls: with `api: anthropic` 1.25 times `input` if
        /// absent, else as of others.
        optional cache_write: Spanned<f64>,
    }
    finish check_price;
}

/// Notes limits without room, an unsafe address, and a useless key.
fn check_model(model: &mut ModelSection, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let mut wrong = |code, span, message: String, help: &str| {
        decoder.emit(Diagnostic::new(code, span, message).with_help(help));
    };
    if model.model.value.trim().is_empty() {
        let help = "write the provider's name of the model";
        wrong(Code::ValueWrong, model.model.span, "the name of the model is empty".into(), help);
    }
    let window = model.context_window.as_ref().map_or(ModelDefinition::CONTEXT_WINDOW, |size| size.value);
    let output = model.max_output.as_ref().map_or(ModelDefinition::MAX_OUTPUT, |size| size.value);
    if output == 0 || output >= window {
        let span = model.max_output.as_ref().or(model.context_window.as_ref()).map(|size| size.span);
        let message =
            format!("`max_output` ({output}) must be from 1 to less than `context_window` ({window})");
        let help = "the window holds the conversation and the reply";
        wrong(Code::ValueWrong, span.unwrap_or(model.api.span), message, help);
    }
    if let Some(timeout) = model.timeout.as_ref().filter(|timeout| timeout.value.0.is_zero()) {
        let help = "write a duration such as `5m`";
        wrong(Code::ValueWrong, timeout.span, "a timeout of 0 would end every call".into(), help);
    }
    if let Some(url) = &model.base_url
        && let Err(error) = ProviderAddress::new(model.api.value, Some(&url.value))
    {
        let help = "write `https://HOST/v1`, or `http://127.0.0.1:PORT/v1` on this machine";
        wrong(Code::ValueWrong, url.span, error.to_string(), help);
    }
    if let Some(key) = model.key.as_ref().filter(|key| key.value.mask.is_some()) {
        let help = "leave `mask` out";
        wrong(Code::KeyUnknown, key.span, "the key of a model is always masked".into(), help);
    }
    if model.api.value == ModelApi::Scripted {
        let path = &model.model;
        if path.value.starts_with(['/', '~']) || path.value.split('/').any(|part| part == "..") {
            let message = format!("`{}` is not a file of the workspace", path.value);
            wrong(Code::ValueWrong, path.span, message, "write its path, relative to the workspace");
        }
        for key in ["base_url", "key", "timeout"].into_iter().filter(|key| fields.has(key)) {
            let message = format!("a model with `api: scripted` does not support `{key}`");
            wrong(Code::KeyUnknown, fields.key(key), message, "leave it out: its replies come from a file");
        }
    }
}

/// Notes an invalid price.
fn check_price(price: &mut PriceSection, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let parts = [&price.cached_input, &price.cache_write];
    let parts = parts.into_iter().filter_map(Option::as_ref);
    let all = [&price.input, &price.output].into_iter().chain(parts);
    for amount in all {
        if let Err(reason) = Money::from_dollars(amount.value) {
            decoder.emit(Diagnostic::new(Code::ValueWrong, amount.span, reason.to_string()));
        }
    }
}

/// Notes roles and fallbacks without a model, and models with themselves as a fallback.
pub(super) fn check_names(
    models: &OrderedEntries<Name, ModelSection>,
    roles: &OrderedEntries<Name, Spanned<Name>>,
    decoder: &mut SpecDecoder<'_>,
) {
    let by_name: BTreeMap<&Name, &ModelSection> =
        models.iter().map(|(name, model)| (&name.value, model)).collect();
    let fallbacks = models.iter().flat_map(|(_, model)| &model.fallback);
    for named in roles.iter().map(|(_, model)| model).chain(fallbacks) {
        if by_name.contains_key(&named.value) {
            continue;
        }
        let message = format!("there is no model `{}` in `models`", named.value);
        let mistake = Diagnostic::new(Code::UnknownModel, named.span, message);
        let near = nearest(named.value.as_str(), by_name.keys().map(|name| name.as_str()));
        decoder.emit(match near {
            Some(near) => mistake.with_suggestion(Some(near)),
            None => mistake.with_help("define it under `models`"),
        });
    }
    for (name, _) in models.iter() {
        if falls_back_to(&name.value, &by_name) {
            let message = format!("the model `{}` falls back to itself", name.value);
            let mistake = Diagnostic::new(Code::ValueWrong, name.span, message);
            decoder.emit(mistake.with_help("leave one of the names out of `fallback`"));
        }
    }
}

/// True if a model is reached from itself by fallbacks.
fn falls_back_to(name: &Name, by_name: &BTreeMap<&Name, &ModelSection>) -> bool {
    let mut visited = BTreeSet::new();
    let mut open = vec![name];
    while let Some(model) = open.pop().and_then(|next| by_name.get(next)) {
        for next in &model.fallback {
            if next.value == *name {
                return true;
            }
            if visited.insert(&next.value) {
                open.push(&next.value);
            }
        }
    }
    false
}

/// Returns the models of a configuration, with all defaults filled in.
pub(super) fn table(
    models: &OrderedEntries<Name, ModelSection>,
    roles: &OrderedEntries<Name, Spanned<Name>>,
) -> ModelTable {
    let models = models.iter().map(|(name, model)| (name.lower(), definition(&name.value, model)));
    ModelTable {
        models: models.collect(),
        roles: roles.lower().into_iter().collect(),
        ..ModelTable::default()
    }
}

fn definition(name: &Name, model: &ModelSection) -> ModelDefinition {
    let amount = |price: &Spanned<f64>| Money::from_dollars(price.value).unwrap_or_default();
    ModelDefinition {
        name: name.clone(),
        api: model.api.value,
        model: model.model.lower(),
        base_url: model.base_url.lower(),
        key: model.key.as_ref().and_then(|key| wf_lang::secret_source(&key.value)),
        context_window: model.context_window.lower().unwrap_or(ModelDefinition::CONTEXT_WINDOW),
        max_output: model.max_output.lower().unwrap_or(ModelDefinition::MAX_OUTPUT),
        price: model.price.as_ref().map(|price| {
            let input = amount(&price.input);
            // Other providers cache without being asked, and bill that as any input.
            let usual =
                (model.api.value == ModelApi::Anthropic).then(|| ModelPrice::usual_cache_write(input));
            ModelPrice {
                input,
                output: amount(&price.output),
                cached_input: price.cached_input.as_ref().map(amount),
                cache_write: price.cache_write.as_ref().map(amount).or(usual),
            }
        }),
        timeout: model.timeout.lower().unwrap_or(ModelDefinition::TIMEOUT),
        fallback: model.fallback.lower(),
    }
}

#[cfg(test)]
mod tests;
