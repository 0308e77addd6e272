//! Every key of the language is shown: with another value, or without it, the view is another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{super::PlanSummary, sample};
use wf_lang::{goal_schema, plan_schema};

/// The keys that change no view, and why.
const UNSHOWN: &[&str] = &[
    // Only plans and dags run, and a dag is a plan; the part `goal` says that there is a goal.
    "Plan.kind",
    "Goal.kind",
    // A gate is shown as a gate.
    "GateSpec.kind",
];

/// The keys of which no other value is valid beside the other keys of the sample, and the lines that show them.
const BOUND: &[(&str, &str, &str)] = &[
    ("AgentSpec.engine", "steps.thought.agent.engine", "builtin"),
    (
        "PlannerSpec.role",
        "planner[the model with the role `goal_planner` adds alternatives to steps that no approver has reviewed]",
        "the model with the role `goal_planner`",
    ),
    ("GateSpec.check", "gates.ranges.check", "numeric_range"),
    ("GateSpec.provider", "gates.ranges.provider", "predicate"),
    ("Goal.on_failure", "goal.on_failure", "spawn_plan"),
    ("MissedTimesSpec.run", "goal.missed.run", "all"),
    ("SecretSpec.from", "secrets.BY_ENV", "from the environment variable"),
    ("SkillUse.name", "steps.skilled.skill.name", "tools"),
];

/// The keys that only a plan without steps has.
const LONE: &[&str] = &["Plan.agent", "Plan.allow", "Plan.retry"];

/// A goal without checks.
const JOB: &str = r#"---
kind: goal
id: job
schedule: "0 6 * * *"
run: {uses: parts.md, with: {what: "{{ params.slot }}"}}
---
"#;

/// The keys that only a goal without checks has.
const OF_JOBS: &[&str] = &["Goal.run"];

/// The records that are JSON Schemas, which are shown as a whole, with keys of their own.
const WHOLE: &[&str] = &["Contract", "Param", "PlanOutput", "StepOutput"];

/// A key of the sample: its place there, and the words that may stand there.
struct SampleKey {
    pointer: String,
    words: Vec<Value>,
    /// True if its value has keys of its own.
    has_record: bool,
}

/// The keys by their names, `RECORD.KEY`, with their places in the sample.
type SampleKeys = BTreeMap<String, Vec<SampleKey>>;

struct SchemaWalk<'s> {
    root: &'s Value,
    found: SampleKeys,
}

impl SchemaWalk<'_> {
    fn keys(&self) -> usize {
        self.found.values().map(Vec::len).sum()
    }

    fn visit(&mut self, record: &str, schema: &Value, value: &Value, pointer: &str) {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            let root = self.root;
            self.visit(name, &root["$defs"][name], value, pointer);
        }
        for choice in ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema[word].as_array()).flatten()
        {
            self.visit(record, choice, value, pointer);
        }
        for (at, item) in value.as_array().into_iter().flatten().enumerate() {
            self.visit(record, &schema["items"], item, &format!("{pointer}/{at}"));
        }
        let properties = &schema["properties"];
        for (key, inner) in value.as_object().into_iter().flatten() {
            let pointer = format!("{pointer}/{key}");
            let Some(property) = properties.get(key) else {
                self.visit(record, &schema["additionalProperties"], inner, &pointer);
                continue;
            };
            let words = words(self.root, property);
            let before = self.keys();
            self.visit(record, property, inner, &pointer);
            let has_record = self.keys() > before;
            let places = self.found.entry(format!("{record}.{key}")).or_default();
            places.push(SampleKey { pointer, words, has_record });
        }
    }
}

fn words(root: &Value, schema: &Value) -> Vec<Value> {
    let name = schema["$ref"].as_str().map(|name| name.trim_start_matches("#/$defs/"));
    let schema = name.map_or(schema, |name| &root["$defs"][name]);
    let listed = schema["enum"].as_array().into_iter().flatten().cloned();
    let described = schema["oneOf"].as_array().into_iter().flatten();
    listed.chain(described.filter_map(|word| word.get("const").cloned())).collect()
}

/// A sample with the keys that it uses.
struct KeySample {
    sample: Value,
    body: String,
    whole: PlanSummary,
    found: SampleKeys,
}

impl KeySample {
    fn of(kind: &str, schema: &Value, text: &str) -> Self {
        let (sample, body) = sample::front_matter(text);
        let whole = view(&sample, body).expect("the sample is a plan");
        let mut walk = SchemaWalk { root: schema, found: SampleKeys::new() };
        walk.visit(kind, schema, &sample, "");
        Self { body: body.to_owned(), whole, found: walk.found, sample }
    }
}

/// Every key of the language, as a schema names it.
fn language(kind: &str, schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    gather(kind, schema, &mut found);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        gather(name, definition, &mut found);
    }
    found
}

fn gather(record: &str, schema: &Value, found: &mut BTreeSet<String>) {
    let properties = schema["properties"].as_object().into_iter().flatten();
    found.extend(properties.map(|(key, _)| format!("{record}.{key}")));
    let choices = ["anyOf", "oneOf", "allOf"];
    let choices = choices.iter().filter_map(|word| schema.get(word)?.as_array());
    choices.flatten().for_each(|choice| gather(record, choice, found));
}

/// Other values for a place.
fn others(value: &Value, words: &[Value]) -> Vec<Value> {
    let mut others: Vec<Value> = words.iter().filter(|word| *word != value).cloned().collect();
    match value {
        Value::Bool(yes) => others.push(json!(!yes)),
        Value::Number(number) => {
            others.extend(number.as_i64().map(|whole| json!(whole + 1)));
            others.extend(number.as_f64().map(|number| json!(number / 2.0)));
        }
        Value::String(text) => {
            let digits =
                |c: char| c.to_digit(10).map_or(c, |digit| char::from_digit(digit % 9 + 1, 10).unwrap());
            others.extend([json!(format!("{text}x")), json!(text.chars().map(digits).collect::<String>())]);
        }
        Value::Array(items) => {
            others.push(items.iter().skip(1).cloned().collect());
            others.push(
                items
                    .iter()
                    .map(|item| self::others(item, words).into_iter().next().unwrap_or_default())
                    .collect(),
            );
        }
        _ => {}
    }
    others
}

/// The sample with another value at a place, or without it.
fn variants(sample: &Value, key: &SampleKey) -> Vec<Value> {
    let with = |other: Value| {
        let mut variant = sample.clone();
        *variant.pointer_mut(&key.pointer).unwrap() = other;
        variant
    };
    let mut variants: Vec<Value> =
        others(sample.pointer(&key.pointer).unwrap(), &key.words).into_iter().map(with).collect();
    let (parent, name) = key.pointer.rsplit_once('/').unwrap();
    let mut without = sample.clone();
    without.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
    variants.push(without);
    variants.retain(|variant| variant != sample);
    variants
}

fn view(front_matter: &Value, body: &str) -> Option<PlanSummary> {
    sample::view(&format!("---\n{front_matter}\n---\n{body}"))
}

#[test]
fn every_key_of_the_language_is_shown() {
    let mut wrong = Vec::new();
    for (kind, schema, text) in
        [("Plan", plan_schema(), sample::all()), ("Goal", goal_schema(), sample::GOAL.to_owned())]
    {
        let with_steps = KeySample::of(kind, &schema, &text);
        let lone = KeySample::of("Plan", &plan_schema(), sample::LONE_AGENT);
        let job = KeySample::of("Goal", &goal_schema(), JOB);
        for key in language(kind, &schema) {
            let KeySample { sample, body, whole, found } = match &*key {
                own if LONE.contains(&own) => &lone,
                own if OF_JOBS.contains(&own) => &job,
                _ => &with_steps,
            };
            let record = key.split('.').next().unwrap();
            let is_unread =
                key.starts_with("SecretSpec.") && !wf_lang::READS_KEYRING && !found.contains_key(&key);
            if is_unread
                || UNSHOWN.contains(&&*key)
                || BOUND.iter().any(|(bound, ..)| *bound == key)
                || WHOLE.contains(&record)
            {
                continue;
            }
            let places = found.get(&key).map_or(&[][..], Vec::as_slice);
            // A goal has the keys of a plan, which the plan shows.
            if places.is_empty() && kind == "Goal" && record != "Goal" {
                continue;
            }
            if places.is_empty() {
                wrong.push(format!("{key} is not in the sample"));
            }
            // The keys in a record show it.
            let of_records = places.iter().filter(|place| place.has_record);
            if places.is_empty() || of_records.count() > 0 {
                continue;
            }
            let variants = places.iter().flat_map(|place| variants(sample, place));
            let mut views = variants.filter_map(|variant| view(&variant, body)).peekable();
            let has_others = views.peek().is_some();
            if !views.any(|other| other != *whole) {
                wrong.push(format!(
                    "{key} {}",
                    if has_others { "is not shown" } else { "has no other value" }
                ));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn keys_without_another_value_have_a_line() {
    let views = [sample::all(), sample::GOAL.to_owned()].map(|text| sample::view(&text).unwrap());
    for (key, path, text) in BOUND {
        let mut lines = views.iter().flat_map(|view| &view.lines);
        let has_line = lines.any(|line| line.path() == *path && line.text.starts_with(text));
        assert!(has_line, "{key}: {path} {text}");
    }
}

/// A step of each kind of work, without any other key.
fn kinds_of_work() -> Vec<(&'static str, Value)> {
    vec![
        ("run", json!({"run": "a script"})),
        ("exec", json!({"exec": ["program"]})),
        ("skill", json!({"skill": {"name": "tools", "script": "tool", "args": {"much": 212}}})),
        ("agent", json!({"agent": {"role": "the_role", "tools": ["read", "run"], "max_turns": 3}})),
        ("http", json!({"http": {"url": "https://example.com"}})),
        ("uses", json!({"uses": "parts.md", "with": {"what": "it"}})),
        ("wait", json!({"wait": {"duration": "5s"}})),
        ("approve", json!({"approve": {"message": "Is it right"}})),
        (
            "container",
            json!({"container": format!("registry.example/tool@sha256:{}c0de", "0".repeat(60)), "run": "a script"}),
        ),
    ]
}

/// The keys of a step that stand beside its work, each with the value that it has first in the sample.
fn keys_beside_work(sample: &KeySample) -> BTreeMap<String, Value> {
    let keys = sample.found.iter().filter_map(|(name, places)| {
        let key = name.strip_prefix("StepSpec.")?;
        let is_work = kinds_of_work().iter().any(|(_, step)| step.get(key).is_some());
        let value = sample.sample.pointer(&places.first()?.pointer)?;
        // A limit of repeated steps alone.
        let is_unused = is_work || matches!(key, "id" | "max_parallel");
        (!is_unused).then(|| (key.to_owned(), value.clone()))
    });
    keys.collect()
}

#[test]
fn every_key_of_a_step_is_shown_beside_each_kind_of_work() {
    let sample = KeySample::of("Plan", &plan_schema(), &sample::all());
    let keys = keys_beside_work(&sample);
    assert!(keys.len() > 20, "{:?}", keys.keys());
    let (mut wrong, mut shown) = (Vec::new(), BTreeMap::<&str, BTreeSet<&str>>::new());
    for (kind, work) in kinds_of_work() {
        let plan = |more: Option<(&str, &Value)>| {
            let mut step = work.clone();
            step["id"] = json!("own");
            if let Some((key, value)) = more {
                step[key] = value.clone();
            }
            let mut plan = sample.sample.clone();
            plan["steps"].as_array_mut().unwrap().push(step);
            view(&plan, &format!("{}\n## own\n\nThe briefing.\n", sample.body))
        };
        let without = plan(None).unwrap_or_else(|| panic!("`{kind}` alone is a step"));
        for (key, value) in &keys {
            // Not every key is valid beside every work.
            let Some(with) = plan(Some((key, value))) else { continue };
            if with == without && *value != json!(false) {
                wrong.push(format!("{kind}: {key}"));
            }
            shown.entry(kind).or_default().insert(key);
            // Each value in it, too.
            for (pointer, inner) in leaves(value, String::new()) {
                let others =
                    others(&inner, &[]).into_iter().filter(|other| *other != inner).filter_map(|other| {
                        let mut changed = value.clone();
                        *changed.pointer_mut(&pointer)? = other;
                        plan(Some((key, &changed)))
                    });
                let others: Vec<PlanSummary> = others.collect();
                if !others.is_empty() && others.iter().all(|other| *other == with) {
                    wrong.push(format!("{kind}: {key}{pointer}"));
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    for (kind, key) in
        [("run", "allow"), ("agent", "allow"), ("agent", "limits"), ("agent", "writes"), ("skill", "allow")]
    {
        assert!(shown[kind].contains(key), "{kind} with {key} is no plan: {shown:?}");
    }
}

/// The values inside of a value that have none inside, by their places.
fn leaves(value: &Value, at: String) -> Vec<(String, Value)> {
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, inner)| leaves(inner, format!("{at}/{key}"))).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(place, inner)| leaves(inner, format!("{at}/{place}")))
            .collect(),
        leaf => vec![(at, leaf.clone())],
    }
}
