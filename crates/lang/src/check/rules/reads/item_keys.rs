use serde_json::{Value, json};

use crate::{
    ast::{ForEachSpec, StepSpec},
    check::{
        FileDiagnostics, RuleContext,
        taint::{any_item_of, part_of},
    },
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};
use wf_model::{
    ItemKeyPath,
    expr::{ExprReference, PathKey, SpannedReference},
};

/// The words by which a schema may allow a property it does not list.
const OPEN: [&str; 8] =
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"];

/// Checks that the items of a list have the keys naming them, as far as the file tells.
pub(crate) fn check_item_keys(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in &context.steps {
        let (Some(each), Some(key)) = (&step.for_each, &step.key) else { continue };
        match &each.value {
            ForEachSpec::List(items) => {
                if let Err(error) = key.value.keys(items) {
                    let mistake = Diagnostic::new(Code::ValueWrong, key.span, error.to_string());
                    diagnostics.note(mistake.with_related(each.span, "the items").with_help(error.remedy()));
                }
            }
            ForEachSpec::Computed(list) => {
                let schema = list.lookup().and_then(|list| item_schema(context, list));
                if let Some(schema) = schema {
                    of_schema(schema, key, diagnostics);
                }
            }
        }
    }
}

/// Returns the schema of the items of a list a parameter or an output has, if it has one for all.
fn item_schema<'a>(context: &RuleContext<'a>, reference: &SpannedReference) -> Option<&'a Value> {
    let of_list = |schema: &'a Value, path: &[PathKey]| any_item_of(part_of(schema, path)?);
    match &reference.name {
        ExprReference::Param(name) => {
            let mut params = context.plan.params.iter();
            let (_, param) = params.find(|(own, _)| own.value.as_str() == name)?;
            of_list(param.schema.text(), &reference.path)
        }
        ExprReference::Output { step, output } => {
            let step = context.step(context.find(step)?);
            let schema = output_schema(context, step, output)?;
            let is_repeated = step.for_each.is_some() || step.matrix.is_some();
            match &*reference.path {
                path if !is_repeated => of_list(schema, path),
                // Each item of the other step has such an output.
                [] => Some(schema),
                [PathKey::Index(_), path @ ..] => of_list(schema, path),
                [PathKey::Field(_), ..] => None,
            }
        }
        _ => None,
    }
}

/// Returns the schema of an output of a step, or of the plan it uses.
fn output_schema<'a>(context: &RuleContext<'a>, step: &'a StepSpec, name: &str) -> Option<&'a Value> {
    let mut own = step.outputs.iter();
    if let Some((_, own)) = own.find(|(own, _)| own.value.as_str() == name) {
        return Some(own.schema.text());
    }
    let (_, used) = context.used(step)?;
    let mut outputs = used.outputs.iter();
    let (_, output) = outputs.find(|(own, _)| own.value.as_str() == name)?;
    Some(output.value.schema.text())
}

/// Compares a key with the schema of the items.
fn of_schema(item: &Value, key: &Spanned<ItemKeyPath>, diagnostics: &mut FileDiagnostics) {
    let (mut schema, mut name) = (item, "item".to_owned());
    for part in key.value.path() {
        let Some(inner) = part_of(schema, std::slice::from_ref(part)) else {
            return no_part(schema, &name, &Spanned::new(part.clone(), key.span), diagnostics);
        };
        schema = inner;
        name = format!("{name}{part}");
    }
    let kind = match schema["type"].as_str() {
        Some("object") => "an object",
        Some("array") => "a list",
        Some("null") => "null",
        _ => return,
    };
    let message =
        format!("`{name}` is {kind} by the schema of the list, and a key is text, a number or a boolean");
    let help = "name a property of text, a number or a boolean that every item has";
    diagnostics.note(Diagnostic::new(Code::ValueWrong, key.span, message).with_help(help));
}

/// Notes a schema without the next part of a key.
fn no_part(schema: &Value, name: &str, part: &Spanned<PathKey>, diagnostics: &mut FileDiagnostics) {
    let Some(fields) = schema.as_object() else { return };
    let PathKey::Field(field) = &part.value else { return };
    if OPEN.iter().any(|word| fields.contains_key(*word)) {
        return;
    }
    let kind = schema["type"].as_str();
    if let Some(kind) = kind.filter(|kind| *kind != "object") {
        let message =
            format!("`{name}` is of the type `{kind}` by the schema of the list, and has no `{field}`");
        let help = format!("write `key: {name}`, or declare the property");
        return diagnostics.note(Diagnostic::new(Code::ValueWrong, part.span, message).with_help(help));
    }
    let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let path = format!("{name}{}", part.value);
    let (code, message) = match &schema["additionalProperties"] {
        closed if *closed == json!(false) => {
            (Code::ValueWrong, format!("no item has `{path}` by the schema of the list"))
        }
        // A schema that lists no property describes nothing.
        Value::Null if names.clone().next().is_some() => {
            (Code::ItemKeyUndeclared, format!("the schema of the list does not declare `{path}`"))
        }
        _ => return,
    };
    diagnostics.misspelt(
        Diagnostic::new(code, part.span, message),
        field,
        names,
        "declare it under `properties`",
    );
}
