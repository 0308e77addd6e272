use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Decode, Decoder};
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::spec::yaml::{Node, Yaml};

/// A parameter given to a plan: a template, or any other value as it stands.
#[derive(Clone, Debug)]
pub struct Argument(pub Template);

impl Deref for Argument {
    type Target = Template;

    fn deref(&self) -> &Template {
        &self.0
    }
}

impl Decode for Argument {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        if let Yaml::Text(_) = node.value {
            return Template::decode(node, decoder).map(Self);
        }
        if let Some(inner) = template_inside(node) {
            let message = "a template cannot stand inside a list or a mapping";
            let help = "write the whole value as one template";
            let mistake = Diagnostic::new(Code::ValueWrong, inner.span, message);
            decoder.note(mistake.help(help));
            return None;
        }
        Some(Self(Template::of_value(node.json())))
    }
}

/// The first text with a template in it.
fn template_inside<'n, 'a>(node: &'n Node<'a>) -> Option<&'n Node<'a>> {
    match &node.value {
        Yaml::Text(text) if text.contains("{{") => Some(node),
        Yaml::List(items) => items.iter().find_map(template_inside),
        Yaml::Map(entries) => entries
            .iter()
            .find_map(|entry| template_inside(&entry.value)),
        _ => None,
    }
}

impl JsonSchema for Argument {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Argument".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}
