use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};

use super::{Allow, Limits, StepOutput, sound};
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::model::{Auth, Schema};
use crate::name::{ArgName, EnvName, Name, SkillName};
use crate::source::{Span, Spanned};
use crate::spec::decode::{
    Argument, Decode, Decoder, Entries, Fields, Period, contract, record, words,
};
use crate::spec::yaml::{Node, Yaml};

record! {
    /// A script of a skill of the workspace, and what it is given.
    pub struct SkillUse as "the `skill` of a step" {
        /// The skill, by its name.
        required name: Spanned<SkillName>,
        /// The script: its path in the skill's folder, or its name without folder and ending. The
        /// only one if absent.
        optional script: Spanned<String>,
        /// What it is given: by name, as the skill declares it; or, where the skill declares
        /// nothing of the script, a list of words.
        optional args: SkillArgs,
    }
    instead {
        "with" => "write `args`",
        "allow" => "write `allow` beside `skill`",
        "env" => "write `env` beside `skill`",
    }
}

/// What a script of a skill is given.
#[derive(Clone, Debug)]
pub enum SkillArgs {
    /// By name.
    Named(Entries<ArgName, Spanned<Argument>>),
    /// As they stand.
    Words(Vec<Spanned<Template>>),
}

impl Decode for SkillArgs {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        match node.value {
            Yaml::List(_) => Decode::decode(node, decoder).map(Self::Words),
            _ => Decode::decode(node, decoder).map(Self::Named),
        }
    }
}

impl JsonSchema for SkillArgs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SkillArgs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let named = generator.subschema_for::<Entries<ArgName, Argument>>();
        let words = generator.subschema_for::<Vec<Template>>();
        schemars::json_schema!({ "anyOf": [named, words] })
    }
}

record! {
    /// What a skill says to wf: the YAML text that is the value of `wf` in its `metadata`.
    pub struct SkillOwn as "the `wf` of a skill" {
        /// The scripts that plans may run, by their paths in the skill's folder.
        default scripts: Entries<String, SkillScript>,
        /// What makes it a connection to a service.
        optional connection: Connection,
    }
    finish paths_inside;
}

record! {
    /// What a script takes, needs and gives.
    pub struct SkillScript as "a script of a skill" {
        /// A line for people.
        optional description: String,
        /// What it takes: a JSON Schema each. Without `default` it must be given, unless it is
        /// `optional`.
        default args: Entries<ArgName, ScriptArg>,
        /// The variables that it reads; a step must give those that `allow.env` does not name.
        default env: Vec<Spanned<EnvName>>,
        /// The most that it may reach: nothing but reading the workspace if absent. A step may
        /// allow less.
        optional allow: Allow,
        /// How much it may use.
        optional limits: Limits,
        /// The longest an attempt may take.
        optional timeout: Spanned<Period>,
        /// The values that it gives, a JSON Schema each.
        default outputs: Entries<Name, StepOutput>,
        /// How it is tried when it is installed: it must succeed and needs nothing.
        optional dry_run: DryRun,
    }
    finish gets_what_it_needs;
}

record! {
    /// How a script is tried.
    pub struct DryRun as "a `dry_run`" {
        /// What it is given, by name.
        default args: Entries<ArgName, Spanned<Argument>>,
    }
}

record! {
    /// What makes a skill a connection to a service. Silas 10.6.
    pub struct Connection as "a `connection`" {
        /// How people let wf in.
        required auth: Auth,
        /// What is asked for, and what can be.
        optional permissions: Permissions,
        /// How often its health is to be looked at, for example `30m`.
        optional check_every: Spanned<Period>,
    }
}

record! {
    /// What a connection may do there.
    pub struct Permissions as "a set of `permissions`" {
        /// What is asked for at first.
        default initial: Vec<String>,
        /// What can be asked for later.
        default available: Vec<String>,
    }
}

words!(Auth {
    "device_code" => Self::DeviceCode,
    "browser_redirect" => Self::BrowserRedirect,
    "secure_input" => Self::SecureInput,
});

/// An argument of a script: a JSON Schema with `default`, `description` and `optional`.
#[derive(Clone, Debug)]
pub struct ScriptArg {
    /// What a value must satisfy.
    pub schema: Schema,
    /// The value when none is given.
    pub default: Option<Spanned<serde_json::Value>>,
    /// Whether it may be left out, though it has no default.
    pub is_optional: bool,
    /// A line for people.
    pub description: Option<String>,
    /// Its place among the arguments that have no name, from 1; without it, it is a flag.
    pub position: Option<Spanned<u32>>,
}

impl ScriptArg {
    /// Whether a step must give it.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !self.is_optional
    }
}

impl Decode for ScriptArg {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let schema = contract(node, &["optional", "position"], decoder)?;
        let value = |key: &str| node.get(key).map(|entry| &entry.value);
        let default: Option<Spanned<serde_json::Value>> =
            value("default").and_then(|value| Decode::decode(value, decoder));
        if let Some(default) = &default
            && let Some(mistake) = schema.mistake(&default.value)
        {
            let mistake = Diagnostic::new(Code::DefaultInvalid, default.span, mistake);
            decoder.note(mistake.help("give a default that the argument itself lets pass"));
        }
        Some(Self {
            schema,
            default,
            is_optional: value("optional")
                .and_then(|word| Decode::decode(word, decoder))
                .unwrap_or_default(),
            description: value("description").and_then(|text| Decode::decode(text, decoder)),
            position: value("position").and_then(|at| Decode::decode(at, decoder)),
        })
    }
}

impl JsonSchema for ScriptArg {
    fn schema_name() -> Cow<'static, str> {
        "ScriptArg".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let mut schema = Schema::json_schema(generator);
        if let Some(serde_json::Value::Object(properties)) = schema.get_mut("properties") {
            let about = "Whether it may be left out, though it has no default.";
            let flag = serde_json::json!({ "type": "boolean", "description": about });
            properties.insert("optional".into(), flag);
            let about = "Its place among the arguments that have no name, from 1.";
            let place =
                serde_json::json!({ "type": "integer", "minimum": 1, "description": about });
            properties.insert("position".into(), place);
        }
        schema
    }
}

/// Notes scripts that cannot lie in the skill's folder.
fn paths_inside(own: &mut SkillOwn, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    for (path, _) in own.scripts.iter() {
        let odd = |part: &str| matches!(part, "" | "." | "..");
        if path.value.split('/').any(odd) || path.value.chars().any(char::is_control) {
            let message = format!("`{}` is no file of the skill's folder", path.value);
            let mistake = Diagnostic::new(Code::ValueWrong, path.span, message);
            decoder.note(mistake.help("write its path in the folder, as `scripts/run.sh`"));
        }
    }
}

fn gets_what_it_needs(
    script: &mut SkillScript,
    fields: &Fields<'_, '_>,
    decoder: &mut Decoder<'_>,
) {
    sound::some_time(script.timeout.as_ref(), decoder);
    for name in &script.env {
        if name.value.as_str().starts_with("WF_") {
            let message = format!("`{}` is there for every script", name.value);
            let mistake = Diagnostic::new(Code::ValueWrong, name.span, message);
            decoder.note(mistake.help("remove it"));
        }
    }
    are_in_order(script, decoder);
    let Some(tried) = &script.dry_run else { return };
    for (name, _) in tried.args.iter() {
        if script
            .args
            .iter()
            .all(|(known, _)| known.value != name.value)
        {
            let message = format!("the script takes no argument `{}`", name.value);
            decoder.note(Diagnostic::new(Code::UnknownArgument, name.span, message));
        }
    }
    let given = |name: &ArgName| tried.args.iter().any(|(known, _)| known.value == *name);
    for (name, arg) in script.args.iter() {
        if arg.is_required() && !given(&name.value) {
            let name = &name.value;
            let message = format!("it is tried without `{name}`, which it requires");
            let mistake = Diagnostic::new(Code::KeyMissing, fields.key("dry_run"), message);
            decoder.note(mistake.help(format!("write `dry_run: {{args: {{{name}: …}}}}`")));
        }
    }
}

/// Notes positions that are not 1, 2, 3 and so on, and what would move the ones after it: what may
/// be left out, or is a list.
fn are_in_order(script: &SkillScript, decoder: &mut Decoder<'_>) {
    let placed = script.args.iter();
    let mut placed: Vec<(u32, Span, &ScriptArg)> = placed
        .filter_map(|(_, arg)| arg.position.as_ref().map(|at| (at.value, at.span, arg)))
        .collect();
    placed.sort_by_key(|(position, ..)| *position);
    let last = placed.len().saturating_sub(1);
    let mut mistake = |span, message: String, help: String| {
        decoder.note(Diagnostic::new(Code::ValueWrong, span, message).help(help));
    };
    for ((at, expected), (position, span, arg)) in (0..).zip(1_u32..).zip(placed) {
        if position != expected {
            let message = format!("no argument has the position {expected}");
            mistake(span, message, format!("write `position: {expected}`"));
            return;
        }
        if at < last && !arg.is_required() && arg.default.is_none() {
            let message = "an argument comes after it, and it may be left out".to_owned();
            mistake(
                span,
                message,
                "give it a `default`, or the last position".into(),
            );
        }
        let is_list = arg
            .schema
            .text()
            .get("type")
            .is_some_and(|kind| kind == "array");
        if at < last && is_list {
            let message = "an argument comes after it, and it is a list".to_owned();
            mistake(span, message, "give it the last position".into());
        }
    }
}

impl SkillOwn {
    /// That of a skill that says nothing to wf.
    pub fn none() -> Self {
        Self {
            scripts: Entries::default(),
            connection: None,
        }
    }

    /// The script that a step means, with its path: by the path, or by its name without folder and
    /// ending; the only one if it says nothing.
    pub fn script(&self, said: Option<&str>) -> Option<(&Spanned<String>, &SkillScript)> {
        let Some(said) = said else {
            return match self.scripts.as_ref() {
                [(path, script)] => Some((path, script)),
                _ => None,
            };
        };
        let mut all = self.scripts.iter();
        let found = all.find(|(path, _)| path.value == said || stem(&path.value) == said);
        found.map(|(path, script)| (path, script))
    }

    /// What the scripts are called for short.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.scripts.iter().map(|(path, _)| stem(&path.value))
    }
}

/// The name of a file without its folder and its ending.
fn stem(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}
