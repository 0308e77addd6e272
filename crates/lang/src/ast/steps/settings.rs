//! Settings of a step: its cache, its lock, its rework and its repetition.

use crate::{
    ast::parts::foreign,
    decode::{DecodeSpec, MappingFields, SpecDecoder, record, words},
    yaml::{YamlNode, YamlValue},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;
use wf_base::{
    diag::{Code, Diagnostic},
    inline_schema,
    source::{Span, Spanned},
};
use wf_model::{
    ItemKeyPath, LockBusyPolicy, OnReworkExhausted,
    expr::{Expr, Template},
};

record! {
    /// The dependencies and the content of a step's result, so that it may be reused.
    pub struct CacheSpec as "a cache" {
        /// Globs of the files that the step reads. They may be templates.
        required inputs: Vec<Spanned<Template>>,
        /// Globs of the files that the step writes; a reuse restores them. They may be templates,
        /// and must be if the step is repeated, so that each item has its own.
        default outputs: Vec<Spanned<Template>>,
    }
    foreign foreign::CACHE;
    lowers wf_model::StepCache;
}

record! {
    /// The limits for `inspect` and `test` to send the work back.
    pub struct LoopsSpec as "loops" {
        /// The maximum number of attempts after failed checks of the same phase: 3 if absent.
        optional max: u32,
        /// The reaction when none is left: `fail` if absent.
        default on_exhausted: OnReworkExhausted,
    }
    completes wf_model::ReworkLimit;
}

words!(OnReworkExhausted);

record! {
    /// A lock, of which one step at a time has it.
    pub struct LockSpec as "a lock" {
        /// Its name.
        required lock: Spanned<String>,
        /// The reaction when a step of another run has it: `queue` waits, `newest` waits and lets runs that wait for
        /// longer be cancelled, and `refuse` fails. `queue` if absent.
        default when_busy: LockBusyPolicy,
    }
    instead {
        "group" => "write the name as `lock: NAME`",
        "cancel-in-progress" => "write `when_busy: newest`: a run that waits is cancelled for a newer one, and the one that has the lock goes on",
        "name" => "write the name as `lock: NAME`",
    }
}

/// The lock a step holds while it runs: its name, or a mapping.
#[derive(Clone, Debug)]
pub struct ConcurrencySpec(pub LockSpec);

words!(LockBusyPolicy);

impl DecodeSpec for ConcurrencySpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if matches!(node.value, YamlValue::Map(_)) {
            return LockSpec::decode(node, decoder).map(Self);
        }
        let lock = Spanned::decode(node, decoder)?;
        Some(Self(LockSpec { lock, when_busy: LockBusyPolicy::default() }))
    }
}

impl JsonSchema for ConcurrencySpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Concurrency".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let lock = generator.subschema_for::<LockSpec>();
        json_schema!({ "anyOf": [{ "type": "string" }, lock] })
    }
}

/// The list over which a step is repeated.
#[derive(Clone, Debug)]
pub enum ForEachSpec {
    /// A list in the plan.
    List(Vec<Value>),
    /// A list computed in the run.
    Computed(Expr),
}

impl DecodeSpec for ForEachSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match &node.value {
            YamlValue::List(items) => {
                decoder.note_rewritten_numbers(node);
                Some(Self::List(items.iter().map(YamlNode::json).collect()))
            }
            YamlValue::Text(_) => Expr::decode(node, decoder).map(Self::Computed),
            _ => {
                decoder.wrong_type(node, "a list, or an expression that evaluates to one");
                None
            }
        }
    }
}

inline_schema!(ForEachSpec, "ForEach", { "type": ["array", "string"] });

impl DecodeSpec for ItemKeyPath {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let YamlValue::Text(text) = &node.value else {
            decoder.wrong_type(node, "`item` or a property of it, such as `item.path`");
            return None;
        };
        let span = decoder.content(node);
        let path = item_key_path(text, span);
        if path.is_none() {
            let message = "a key is `item` or a property of it";
            let mistake = Diagnostic::new(Code::ValueWrong, span, message);
            decoder.emit(mistake.with_help(item_key_help(text)));
        }
        path
    }
}

fn item_key_path(text: &str, span: Span) -> Option<ItemKeyPath> {
    Expr::parse(text, span).ok().and_then(ItemKeyPath::from_expr)
}

/// Returns the path that was probably meant.
fn item_key_help(text: &str) -> String {
    let inner = text.trim().trim_start_matches("{{").trim_end_matches("}}").trim();
    if item_key_path(inner, Span::default()).is_some() {
        return format!("write it without braces: `key: {inner}`");
    }
    let property = format!("item.{inner}");
    // Another name, or something that is computed, is no property of that name.
    let is_property = Expr::parse(inner, Span::default()).is_err()
        && !inner.contains(' ')
        && item_key_path(&property, Span::default()).is_some();
    if is_property {
        return format!("write `key: {property}`");
    }
    "write, for example, `key: item.path`; nothing else can be read or computed in it".to_owned()
}

/// Notes a key of items in a step without a list of items.
pub(super) fn check_item_key(fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if !fields.has("key") || fields.has("for_each") {
        return;
    }
    let message = "`key` is only valid for a step with `for_each`";
    let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("key"), message);
    decoder.emit(if fields.has("matrix") {
        mistake.with_help("leave it out: a combination of `matrix` has its values as its key")
    } else {
        mistake.with_help("add `for_each`, or remove `key`")
    });
}
