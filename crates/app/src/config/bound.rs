//! The settings of `wf.yaml` a run of a goal depends on: an acceptance binds these, and not the whole file.
//!
//! **Invariant:** each key of the file is bound, bound by the names the plan uses, or listed in the test as one that
//! changes nothing of a run.
//! **Invariant:** what an unreadable file would set is not known, so that its whole text counts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use wf_base::source::Span;
use wf_lang::{decode::DiagnosticList, yaml};
use wf_model::{
    Goal, Plan,
    summary::{SummaryLine, of_goal, of_plan},
};

/// The keys with an effect on the execution of any run, or on the reach of its steps.
const BOUND: [&str; 6] = ["policy", "retry", "replan", "sandbox", "gates", "env_pass"];

/// The roles a run uses without a plan naming them, where it calls a model.
const OWN_ROLES: [&str; 4] = ["executor", "judge", "planner", "compactor"];

/// The words for calls of models in a plan's summary.
const MODEL_WORDS: [&str; 7] =
    ["agent", "llm", "judge", "planner", "consult_planner", "escalate", "generated"];

/// Returns the part of a configuration the runs of a plan, or of a goal, depend on; an unreadable one as its text.
pub fn bound_settings(config: &str, plan: &Plan, goal: Option<&Goal>) -> Value {
    let mut mistakes = DiagnosticList::default();
    let start = if config.starts_with('\u{feff}') { 3 } else { 0 };
    let tree = yaml::read_yaml(config, Span::new(start, config.len()), &mut mistakes);
    let settings = match tree.map(|tree| tree.json()) {
        Some(Value::Object(settings)) => settings,
        Some(Value::Null) => Map::new(),
        _ => return config.into(),
    };
    let lines: Vec<SummaryLine> = goal.map(of_goal).into_iter().flatten().chain(of_plan(plan, "")).collect();
    let named = NamedSettings::of(&settings, &lines);
    let part = settings.into_iter().filter_map(|(key, value)| {
        if BOUND.contains(&key.as_str()) {
            return Some((key, value));
        }
        let names = named.names(&key)?;
        let entries = value.as_object()?.iter().filter(|(name, _)| names.contains(name.as_str()));
        let entries: Map<String, Value> =
            entries.map(|(name, entry)| (name.clone(), entry.clone())).collect();
        (!entries.is_empty()).then(|| (key, Value::Object(entries)))
    });
    Value::Object(part.collect())
}

/// The names in a configuration a plan can use.
struct NamedSettings {
    models: BTreeSet<String>,
    roles: BTreeSet<String>,
    servers: BTreeSet<String>,
    backends: BTreeSet<String>,
}

impl NamedSettings {
    /// Finds them: a plan uses a name only where its summary has it as a word, besides [`OWN_ROLES`]. A word that means
    /// something else binds more than is needed, and never less.
    fn of(settings: &Map<String, Value>, lines: &[SummaryLine]) -> Self {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        let texts =
            lines.iter().filter(|line| !line.is_default).flat_map(|line| [&line.part, &line.key, &line.text]);
        let words: BTreeSet<&str> = texts.flat_map(|text| text.split(|letter| !is_letter(letter))).collect();
        let calls_models = MODEL_WORDS.iter().any(|word| words.contains(word));
        let section = |key: &str| settings.get(key).and_then(Value::as_object).into_iter().flatten();
        let is_used = |name: &str| words.contains(name) || (calls_models && OWN_ROLES.contains(&name));
        let roles: BTreeMap<&str, &Value> = section("roles")
            .map(|(role, model)| (role.as_str(), model))
            .filter(|(role, _)| is_used(role))
            .collect();
        let named = section("models").map(|(model, _)| model.as_str()).filter(|model| words.contains(model));
        let mut open: Vec<&str> = named.chain(roles.values().filter_map(|model| model.as_str())).collect();
        let mut models = BTreeSet::new();
        while let Some(model) = open.pop() {
            if models.insert(model.to_owned()) {
                let fallbacks =
                    settings.get("models").and_then(|models| models.get(model)?.get("fallback")?.as_array());
                open.extend(fallbacks.into_iter().flatten().filter_map(Value::as_str));
            }
        }
        let named_below = |key: &str| -> BTreeSet<String> {
            section(key).map(|(name, _)| name.clone()).filter(|name| words.contains(name.as_str())).collect()
        };
        Self {
            models,
            roles: roles.into_keys().map(str::to_owned).collect(),
            servers: named_below("mcp"),
            backends: named_below("backends"),
        }
    }

    /// Returns those below a key; `None`: its entries are not bound by name.
    fn names(&self, key: &str) -> Option<&BTreeSet<String>> {
        match key {
            "models" => Some(&self.models),
            "roles" => Some(&self.roles),
            "mcp" => Some(&self.servers),
            "backends" => Some(&self.backends),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schemars::SchemaGenerator;
    use serde_json::Value;

    use super::{BOUND, bound_settings};
    use crate::config::{ConfigFile, WorkspaceConfig};
    use wf_lang::{InMemoryFiles, load, lower};

    /// The keys that change what is kept, counted, proposed or waited for, and nothing that a run executes.
    const UNBOUND: [&str; 9] = [
        "limits",
        "durability",
        "logs",
        "retention",
        "audit",
        "autonomy",
        "suggestions",
        "planning",
        "memory",
    ];

    const CONFIG: &str = "policy: {max_parallel: 2}\nenv_pass: [CI]\nretention: {max_runs: 9}\n\
        models:\n  small: {api: scripted, model: a.yaml}\n  large: {api: scripted, model: b.yaml, fallback: [small]}\n\
        \x20 other: {api: scripted, model: c.yaml}\n\
        roles: {writer: large, judge: small, poet: other}\n\
        mcp:\n  files: {command: [files]}\n  web: {command: [web]}\n";

    fn bound(config: &str, step: &str) -> Value {
        let text = format!("---\nkind: plan\nid: p\nsteps: [{{id: a, {step}}}]\n---\n## a\nWork.\n");
        let files = InMemoryFiles([("p.md".to_owned(), text.into_bytes())].into());
        let plan = lower(&load(&files, "p.md"), &WorkspaceConfig::default().defaults).unwrap();
        bound_settings(config, &plan, None)
    }

    #[test]
    fn each_key_is_bound_or_known_to_change_nothing() {
        let schema = SchemaGenerator::default().into_root_schema_for::<ConfigFile>();
        let keys: BTreeSet<&str> =
            schema.get("properties").unwrap().as_object().unwrap().keys().map(String::as_str).collect();
        let listed: BTreeSet<&str> =
            BOUND.iter().chain(&["models", "roles", "mcp", "backends"]).chain(&UNBOUND).copied().collect();
        assert_eq!(keys, listed);
    }

    #[test]
    fn a_plan_without_models_depends_on_none() {
        let expected = serde_json::json!({"policy": {"max_parallel": 2}, "env_pass": ["CI"]});
        assert_eq!(bound(CONFIG, "run: make"), expected);
        assert_eq!(bound(&format!("# a comment\n{CONFIG}"), "run: make"), expected);
    }

    #[test]
    fn a_plan_depends_on_the_models_and_servers_that_it_names() {
        let bound = bound(CONFIG, "agent: {role: writer, tools: [read], mcp: [files]}");
        let keys = |key: &str| bound[key].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(keys("models"), ["large", "small"].map(str::to_owned).into());
        assert_eq!(keys("roles"), ["judge", "writer"].map(str::to_owned).into());
        assert_eq!(keys("mcp"), ["files"].map(str::to_owned).into());
    }

    #[test]
    fn what_cannot_be_read_counts_whole() {
        assert_eq!(bound("a: [", "run: make"), Value::from("a: ["));
        assert_eq!(bound("", "run: make"), bound("# nothing\n", "run: make"));
    }
}
