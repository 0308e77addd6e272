use serde_json::Value;

use crate::decode::{DecodeSpec, MappingFields, SpecDecoder};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::diag::{Code, Diagnostic};
use wf_base::inline_schema;
use wf_base::source::Span;
use wf_model::ItemKeyPath;
use wf_model::expr::Expr;

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
        let found = item_key_path(text, span);
        if found.is_none() {
            let message = "a key is `item` or a property of it";
            let mistake = Diagnostic::new(Code::ValueWrong, span, message);
            decoder.emit(mistake.with_help(item_key_help(text)));
        }
        found
    }
}

fn item_key_path(text: &str, span: Span) -> Option<ItemKeyPath> {
    Expr::parse(text, span).ok().and_then(ItemKeyPath::of)
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
