use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};

use crate::{
    ast::parts::{AllowSpec, LimitsSpec, StepOutputSpec, sound},
    decode::{
        ArgumentTemplate, DecodeSpec, DurationText, MappingFields, OrderedEntries, SpecDecoder, contract,
        record, words,
    },
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{ArgName, EnvName, Name, SkillName},
    source::{Span, Spanned},
};
use wf_model::{AuthMethod, ValueSchema, expr::Template};

record! {
    /// A script of a skill of the workspace, and its arguments.
    pub struct SkillUse as "the `skill` of a step" {
        /// The skill, by its name.
        required name: Spanned<SkillName>,
        /// The script: its path in the skill's folder, or its name without folder and extension.
        /// The only one if absent.
        optional script: Spanned<String>,
        /// The arguments: by name, as the skill declares them; or, if the skill does not declare
        /// the script, a list of words.
        optional args: SkillArgs,
    }
    instead {
        "with" => "write `args`",
        "allow" => "put `allow` next to `skill`",
        "env" => "put `env` next to `skill`",
    }
}

/// The arguments of a script of a skill.
#[derive(Clone, Debug)]
pub enum SkillArgs {
    /// By name.
    Named(OrderedEntries<ArgName, Spanned<ArgumentTemplate>>),
    /// A list of words.
    Words(Vec<Spanned<Template>>),
}

impl DecodeSpec for SkillArgs {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match node.value {
            YamlValue::List(_) => DecodeSpec::decode(node, decoder).map(Self::Words),
            _ => DecodeSpec::decode(node, decoder).map(Self::Named),
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
        let named = generator.subschema_for::<OrderedEntries<ArgName, ArgumentTemplate>>();
        let words = generator.subschema_for::<Vec<Template>>();
        schemars::json_schema!({ "anyOf": [named, words] })
    }
}

record! {
    /// The data of a skill for wf: the YAML text that is the value of `wf` in its `metadata`.
    pub struct SkillExtension as "the `wf` of a skill" {
        /// The scripts that plans may run, by their paths in the skill's folder.
        default scripts: OrderedEntries<String, SkillScript>,
        /// The properties that make it a connection to a service.
        optional connection: SkillConnection,
    }
    finish paths_inside;
}

record! {
    /// The arguments, requirements and outputs of a script.
    pub struct SkillScript as "a script of a skill" {
        /// A description of one line.
        optional description: String,
        /// The arguments, a JSON Schema each. Without `default` an argument is required, unless it
        /// is `optional`.
        default args: OrderedEntries<ArgName, ScriptArg>,
        /// The variables that it reads; a step must set those that `allow.env` does not name.
        default env: Vec<Spanned<EnvName>>,
        /// The maximum permissions: nothing but reading the workspace if absent. A step may allow
        /// less.
        optional allow: AllowSpec,
        /// The resource limits.
        optional limits: LimitsSpec,
        /// The time limit of an attempt.
        optional timeout: Spanned<DurationText>,
        /// The outputs, a JSON Schema each.
        default outputs: OrderedEntries<Name, StepOutputSpec>,
        /// The dry run at installation: it must succeed and needs nothing.
        optional dry_run: DryRunSpec,
    }
    finish check_script_needs;
}

record! {
    /// The dry run of a script.
    pub struct DryRunSpec as "a `dry_run`" {
        /// The arguments, by name.
        default args: OrderedEntries<ArgName, Spanned<ArgumentTemplate>>,
    }
}

record! {
    /// The properties that make a skill a connection to a service. Silas 10.6.
    pub struct SkillConnection as "a `connection`" {
        /// The way in which users grant wf access.
        required auth: AuthMethod,
        /// The permissions to request, and those available.
        optional permissions: ConnectionPermissions,
        /// The interval of its health checks, for example `30m`.
        optional check_every: Spanned<DurationText>,
    }
}

record! {
    /// The permissions of a connection at its service.
    pub struct ConnectionPermissions as "a set of `permissions`" {
        /// The permissions requested at first.
        default initial: Vec<String>,
        /// The permissions that can be requested later.
        default available: Vec<String>,
    }
}

words!(AuthMethod);

/// An argument of a script: a JSON Schema with `default`, `description` and `optional`.
#[derive(Clone, Debug)]
pub struct ScriptArg {
    /// The schema of a value.
    pub schema: ValueSchema,
    /// The value if none is given.
    pub default: Option<Spanned<serde_json::Value>>,
    /// True if it may be omitted, though it has no default.
    pub is_optional: bool,
    /// A description of one line.
    pub description: Option<String>,
    /// Its place among the arguments without name, from 1; without it, it is a flag.
    pub position: Option<Spanned<u32>>,
}

impl ScriptArg {
    /// True if a step must give it.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !self.is_optional
    }
}

impl DecodeSpec for ScriptArg {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let schema = contract(node, &["optional", "position"], decoder)?;
        let value = |key: &str| node.get(key).map(|entry| &entry.value);
        let default: Option<Spanned<serde_json::Value>> =
            value("default").and_then(|value| DecodeSpec::decode(value, decoder));
        if let Some(default) = &default
            && let Some(mistake) = schema.first_mistake(&default.value)
        {
            let mistake = Diagnostic::new(Code::DefaultInvalid, default.span, mistake);
            decoder.emit(mistake.with_help("use a default that the argument accepts"));
        }
        Some(Self {
            schema,
            default,
            is_optional: value("optional")
                .and_then(|word| DecodeSpec::decode(word, decoder))
                .unwrap_or_default(),
            description: value("description").and_then(|text| DecodeSpec::decode(text, decoder)),
            position: value("position").and_then(|at| DecodeSpec::decode(at, decoder)),
        })
    }
}

impl JsonSchema for ScriptArg {
    fn schema_name() -> Cow<'static, str> {
        "ScriptArg".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let mut schema = ValueSchema::json_schema(generator);
        if let Some(serde_json::Value::Object(properties)) = schema.get_mut("properties") {
            let about = "Whether it may be left out, though it has no default.";
            let flag = serde_json::json!({ "type": "boolean", "description": about });
            properties.insert("optional".into(), flag);
            let about = "Its place among the arguments that have no name, from 1.";
            let place = serde_json::json!({ "type": "integer", "minimum": 1, "description": about });
            properties.insert("position".into(), place);
        }
        schema
    }
}

/// Notes scripts that cannot be in the skill's folder.
fn paths_inside(
    extension: &mut SkillExtension,
    _fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    for (path, _) in extension.scripts.iter() {
        let odd = |part: &str| matches!(part, "" | "." | "..");
        if path.value.split('/').any(odd) || path.value.chars().any(char::is_control) {
            let message = format!("`{}` is not a file in the skill's folder", path.value);
            let mistake = Diagnostic::new(Code::ValueWrong, path.span, message);
            decoder.emit(mistake.with_help(
                "write its path relative to the folder, such as \
                                       `scripts/run.sh`",
            ));
        }
    }
}

fn check_script_needs(
    script: &mut SkillScript,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    sound::check_nonzero_duration(script.timeout.as_ref(), decoder);
    for name in &script.env {
        if name.value.as_str().starts_with("WF_") {
            let message = format!("`{}` is always set for scripts", name.value);
            let mistake = Diagnostic::new(Code::ValueWrong, name.span, message);
            decoder.emit(mistake.with_help("remove it"));
        }
    }
    check_positions(script, decoder);
    let Some(tried) = &script.dry_run else { return };
    for (name, _) in tried.args.iter() {
        if script.args.iter().all(|(declared_name, _)| declared_name.value != name.value) {
            let message = format!("unknown argument `{}`", name.value);
            decoder.emit(Diagnostic::new(Code::UnknownArgument, name.span, message));
        }
    }
    let has_value = |name: &ArgName| tried.args.iter().any(|(tried_name, _)| tried_name.value == *name);
    for (name, arg) in script.args.iter() {
        if arg.is_required() && !has_value(&name.value) {
            let name = &name.value;
            let message = format!("the dry run lacks the required argument `{name}`");
            let mistake = Diagnostic::new(Code::KeyMissing, fields.key("dry_run"), message);
            decoder.emit(mistake.with_help(format!("write `dry_run: {{args: {{{name}: …}}}}`")));
        }
    }
}

/// Notes positions other than 1, 2, 3 and so on, and arguments able to shift the ones after
/// them: optional ones and lists.
fn check_positions(script: &SkillScript, decoder: &mut SpecDecoder<'_>) {
    let placed = script.args.iter();
    let mut placed: Vec<(u32, Span, &ScriptArg)> =
        placed.filter_map(|(_, arg)| arg.position.as_ref().map(|at| (at.value, at.span, arg))).collect();
    placed.sort_by_key(|(position, ..)| *position);
    let last = placed.len().saturating_sub(1);
    let mut mistake = |span, message: String, help: String| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, span, message).with_help(help));
    };
    for ((at, expected), (position, span, arg)) in (0..).zip(1_u32..).zip(placed) {
        if position != expected {
            let message = format!("no argument has the position {expected}");
            mistake(span, message, format!("write `position: {expected}`"));
            return;
        }
        if at < last && !arg.is_required() && arg.default.is_none() {
            let message = "an optional argument is followed by another one".to_owned();
            mistake(span, message, "add a `default`, or move it to the last position".into());
        }
        let is_list = arg.schema.text().get("type").is_some_and(|kind| kind == "array");
        if at < last && is_list {
            let message = "a list argument is followed by another one".to_owned();
            mistake(span, message, "move it to the last position".into());
        }
    }
}

impl SkillExtension {
    /// Returns the data of a skill without any for wf.
    pub fn empty() -> Self {
        Self { scripts: OrderedEntries::default(), connection: None }
    }

    /// Returns the script a step means, with its path: by the path, or by its name without
    /// folder and extension; the only one if it names none.
    pub fn script(&self, script_name: Option<&str>) -> Option<(&Spanned<String>, &SkillScript)> {
        let Some(name) = script_name else {
            return match self.scripts.as_ref() {
                [(path, script)] => Some((path, script)),
                _ => None,
            };
        };
        let mut scripts = self.scripts.iter();
        let entry = scripts.find(|(path, _)| path.value == name || stem(&path.value) == name);
        entry.map(|(path, script)| (path, script))
    }

    /// Returns the short names of the scripts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.scripts.iter().map(|(path, _)| stem(&path.value))
    }
}

/// Returns the name of a file without its folder and its extension.
fn stem(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}
