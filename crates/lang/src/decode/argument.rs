use std::ops::Deref;

use super::{DecodeSpec, SpecDecoder};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::diag::{Code, Diagnostic};
use wf_base::inline_schema;
use wf_model::expr::Template;

/// A parameter given to a plan: a template, or any other value as it is.
#[derive(Clone, Debug)]
pub struct ArgumentTemplate(pub Template);

impl Deref for ArgumentTemplate {
    type Target = Template;

    fn deref(&self) -> &Template {
        &self.0
    }
}

impl DecodeSpec for ArgumentTemplate {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if let YamlValue::Text(_) = node.value {
            return Template::decode(node, decoder).map(Self);
        }
        if let Some(inner) = template_inside(node) {
            let message = "a template is not allowed inside a list or a mapping";
            let help = "write the whole value as one template";
            let mistake = Diagnostic::new(Code::ValueWrong, inner.span, message);
            decoder.emit(mistake.with_help(help));
            return None;
        }
        Some(Self(Template::of_value(node.json())))
    }
}

/// Returns the first text with a template in it.
fn template_inside<'n, 'a>(node: &'n YamlNode<'a>) -> Option<&'n YamlNode<'a>> {
    match &node.value {
        YamlValue::Text(text) if text.contains("{{") => Some(node),
        YamlValue::List(items) => items.iter().find_map(template_inside),
        YamlValue::Map(entries) => entries.iter().find_map(|entry| template_inside(&entry.value)),
        _ => None,
    }
}

inline_schema!(ArgumentTemplate, "Argument", true);
