use std::time::Duration;

use super::super::load;
use wf_base::{name::Name, source::SourceText};
use wf_model::{ModelApi, ModelChoice, ModelDefinition, ModelTable, SecretSource};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// Reads a configuration that has these mistakes: the text and the code of each.
fn check(text: &str, wrong: &[&str]) -> ModelTable {
    let source = SourceText::new("wf.yaml", text);
    let (config, mistakes) = load(&source);
    let messages: Vec<_> = mistakes
        .iter()
        .map(|mistake| format!("{} {}", source.slice(mistake.span), mistake.code.as_str()))
        .collect();
    assert_eq!(messages, wrong, "{text}");
    (*config.models).clone()
}

#[test]
fn defaults_are_completed() {
    let table = check("models: {small: {api: openai, model: m}}\n", &[]);
    let small = &table.models[&name("small")];
    assert_eq!((small.name.as_str(), small.api, small.model.as_str()), ("small", ModelApi::Openai, "m"));
    assert_eq!(small.context_window, ModelDefinition::CONTEXT_WINDOW);
    assert_eq!(small.max_output, ModelDefinition::MAX_OUTPUT);
    assert_eq!(small.timeout, ModelDefinition::TIMEOUT);
    assert!(small.base_url.is_none() && small.key.is_none() && small.price.is_none());
    assert!(small.fallback.is_empty() && table.roles.is_empty());
    assert!(check("", &[]).models.is_empty());
}

#[test]
fn everything_can_be_said() {
    let text = "models:\n  strong:\n    api: anthropic\n    model: large\n    base_url: https://gate.example/v1\n    \
                key: {from: env, name: KEY}\n    context_window: 200000\n    max_output: 199999\n    \
                price: {input: 3, output: 15.5, cached_input: 0}\n    timeout: 90s\n    fallback: [local, replies]\n  \
                local: {api: openai_responses, model: l, base_url: 'http://127.0.0.1:8080/v1'}\n  \
                replies: {api: scripted, model: tests/replies.yaml, price: {input: 0, output: 0}}\n\
                roles: {executor: strong, judge: local}\n";
    let table = check(text, &[]);
    let strong = &table.models[&name("strong")];
    assert_eq!(strong.base_url.as_deref(), Some("https://gate.example/v1"));
    assert_eq!(strong.key, Some(SecretSource::Env("KEY".into())));
    assert_eq!((strong.context_window, strong.max_output), (200_000, 199_999));
    assert_eq!(strong.timeout, Duration::from_secs(90));
    assert_eq!(strong.fallback, [name("local"), name("replies")]);
    let price = strong.price.unwrap();
    assert_eq!((price.input.micros(), price.output.micros()), (3_000_000, 15_500_000));
    assert_eq!(price.cached_input.map(wf_model::Money::micros), Some(0));
    assert_eq!(table.models[&name("replies")].price.map(|price| price.output.micros()), Some(0));
    let judge = table.find(&ModelChoice::Role(name("judge"))).unwrap();
    assert_eq!((judge.name.as_str(), judge.api), ("local", ModelApi::OpenaiResponses));
    assert!(table.find(&ModelChoice::Role(name("planner"))).is_none());
    assert!(table.find(&ModelChoice::Model(name("strong"))).is_some());
}

#[test]
fn keys_and_words_are_known() {
    check(
        "models: {a: {api: antropic, model: m, ky: {from: env, name: K}}, b: {model: m}}\nrole: {}\n",
        &[
            "antropic spec/wrong-value",
            "ky spec/unknown-key",
            "model spec/missing-key",
            "role spec/unknown-key",
        ],
    );
    check("models: {A-b: {api: openai, model: m}}\n", &["A-b spec/malformed-name"]);
    check("models: {a: {api: openai, model: ' '}}\n", &["  spec/wrong-value"]);
    check("models: [a]\n", &["[a] spec/wrong-type"]);
}

#[test]
fn addresses_are_safe() {
    let one = |url: &str| format!("models: {{a: {{api: openai, model: m, base_url: '{url}'}}}}\n");
    for url in ["https://models.example/v1", "http://localhost:1/v1", "http://[::1]:8080", "http://127.0.0.1"]
    {
        check(&one(url), &[]);
    }
    for url in [
        "http://models.example/v1",
        "ftp://models.example",
        "https://user:word@models.example/v1",
        "https://models.example/v1?key=x",
        "https://models.example/v1#x",
        "models.example",
        "",
    ] {
        let text = one(url);
        let (_, mistakes) = load(&SourceText::new("wf.yaml", text.as_str()));
        let codes: Vec<&str> = mistakes.iter().map(|mistake| mistake.code.as_str()).collect();
        assert_eq!(codes, ["spec/wrong-value"], "{url}");
    }
}

#[test]
fn limits_and_prices_are_sound() {
    let one = |more: &str| format!("models: {{a: {{api: openai, model: m, {more}}}}}\n");
    check(&one("max_output: 128000"), &["128000 spec/wrong-value"]);
    check(&one("max_output: 0"), &["0 spec/wrong-value"]);
    check(&one("context_window: 8192"), &["8192 spec/wrong-value"]);
    check(&one("context_window: 100, max_output: 100"), &["100 spec/wrong-value"]);
    check(&one("context_window: 0"), &["0 spec/wrong-value"]);
    check(&one("timeout: 0s"), &["0s spec/wrong-value"]);
    check(&one("price: {input: 1}"), &["input spec/missing-key"]);
    check(
        &one("price: {input: -1, output: 1e30, cached_input: -0.1}"),
        &["-1 spec/wrong-value", "1e30 spec/wrong-value", "-0.1 spec/wrong-value"],
    );
    check(&one("price: {input: 0, output: 0, cached_input: 0}"), &[]);
}

#[test]
fn a_scripted_model_needs_a_file_alone() {
    let one = |more: &str| format!("models: {{a: {{api: scripted, model: {more}}}}}\n");
    check(&one("replies.yaml"), &[]);
    for path in ["/tmp/replies.yaml", "~/replies.yaml", "../replies.yaml", "a/../../b"] {
        check(&one(path), &[&format!("{path} spec/wrong-value")]);
    }
    check(
        &one("r.yaml, key: {from: env, name: K}, base_url: 'https://x.example', timeout: 1s"),
        &["key spec/unknown-key", "base_url spec/unknown-key", "timeout spec/unknown-key"],
    );
}

#[test]
fn a_key_is_a_secret() {
    let one = |key: &str| format!("models: {{a: {{api: openai, model: m, key: {key}}}}}\n");
    check(&one("{from: file, path: keys/model.txt}"), &[]);
    check(&one("{from: env}"), &["from spec/missing-key"]);
    check(&one("{from: envv, name: K}"), &["envv spec/wrong-value"]);
    check(&one("{from: env, name: K, mask: false}"), &["{from: env, name: K, mask: false} spec/unknown-key"]);
}

#[test]
fn names_lead_to_models_and_never_back() {
    let all = |fallbacks: [&str; 3]| {
        let [a, b, c] = fallbacks;
        format!(
            "models:\n  a: {{api: openai, model: m, fallback: [{a}]}}\n  b: {{api: openai, model: m, fallback: [{b}]}}\n  \
             c: {{api: openai, model: m, fallback: [{c}]}}\n"
        )
    };
    check(&all(["b, c", "c", ""]), &[]);
    check(&all(["a", "", ""]), &["a spec/wrong-value"]);
    check(&all(["b", "c", "a"]), &["a spec/wrong-value", "b spec/wrong-value", "c spec/wrong-value"]);
    // A model that leads into a circle is not part of it.
    check(&all(["b", "c", "b"]), &["b spec/wrong-value", "c spec/wrong-value"]);
    let text = "models: {strong: {api: openai, model: m, fallback: [weak]}}\nroles: {judge: strnog, other: nothing}\n";
    check(text, &["weak model/unknown", "strnog model/unknown", "nothing model/unknown"]);
    let (_, mistakes) = load(&SourceText::new("wf.yaml", text));
    let help = format!("{:?}", mistakes[1]);
    assert!(help.contains("did you mean `strong`"), "{help}");
}
