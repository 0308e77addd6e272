//! The fields of a form for the parameters of a plan: made of their schemas, and read back by the same.
//!
//! A parameter whose schema says `writeOnly` or `format: password` has no field: what is typed into a page is recorded with the
//! run, and shown by it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use wf_base::untrusted::untrusted;
use wf_model::{JsonObject, PlanParam, ValueSchema};

/// The most options as radio buttons; more are a list to select from.
const MAX_RADIO: usize = 4;

/// The length from which a text has a field of several lines, in characters.
const LONG_TEXT: u64 = 200;

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    Text,
    /// A text of several lines.
    Lines,
    Number,
    Date,
    Checkbox,
    Radio,
    Select,
    /// A list, an object, or a value of any type.
    Json,
    /// It has no field, since it is a secret.
    Secret,
}

/// One of the values of a field to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldOption {
    pub text: String,
    pub is_chosen: bool,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParamField {
    pub name: String,
    pub kind: FieldKind,
    pub description: Option<String>,
    pub is_required: bool,
    /// The text that stands in it.
    pub text: String,
    pub options: Vec<FieldOption>,
    pub min: Option<String>,
    pub max: Option<String>,
    /// The distance between two numbers that are valid; `any`: there is none.
    pub step: Option<String>,
    pub pattern: Option<String>,
    pub max_length: Option<u64>,
    /// The mistake in what was typed.
    pub mistake: Option<String>,
}

/// The values that were read from the fields of a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadFields {
    pub values: JsonObject,
    /// The texts as they were typed.
    pub texts: BTreeMap<String, String>,
}

impl ParamField {
    /// Makes the field of a parameter, with a value if there is one.
    pub(super) fn of(param: &PlanParam, value: Option<&Value>) -> Self {
        let schema = param.schema.text();
        let choices = choices_of(&param.schema);
        let value = value.or(param.default.as_ref());
        let text = value.map(|value| {
            let choice = choices.iter().find(|(_, choice)| choice == value);
            choice.map_or_else(|| text_of(&param.schema, value), |(text, _)| text.clone())
        });
        let text = text.unwrap_or_default();
        let options: Vec<_> =
            choices.into_iter().map(|(text, _)| FieldOption { text, is_chosen: false }).collect();
        let kind = kind_of(&param.schema, options.len(), &text);
        let number = |keys: &[&str]| keys.iter().find_map(|key| schema.get(*key)).map(Value::to_string);
        let is_number = kind == FieldKind::Number;
        let mut field = Self {
            name: param.name.to_string(),
            kind,
            description: param.description.clone(),
            is_required: param.default.is_none(),
            text: String::new(),
            options,
            min: number(&["minimum", "exclusiveMinimum"]).filter(|_| is_number),
            max: number(&["maximum", "exclusiveMaximum"]).filter(|_| is_number),
            step: is_number.then(|| step_of(&param.schema)),
            pattern: schema.get("pattern").and_then(Value::as_str).and_then(whole_pattern),
            max_length: schema.get("maxLength").and_then(Value::as_u64),
            mistake: None,
        };
        field.set_text(text);
        field
    }

    /// Makes the field of a parameter of which only the text that was typed is known.
    pub(super) fn unknown(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: FieldKind::Lines,
            description: None,
            is_required: false,
            text: text.to_owned(),
            options: Vec::new(),
            min: None,
            max: None,
            step: None,
            pattern: None,
            max_length: None,
            mistake: None,
        }
    }

    /// Changes the text that stands in it.
    pub(super) fn set_text(&mut self, text: String) {
        for option in &mut self.options {
            option.is_chosen = option.text == text;
        }
        // A secret has no field, and nothing of it is shown.
        self.text = if self.kind == FieldKind::Secret { String::new() } else { text };
    }
}

/// Reads the texts of fields by the declared types of the parameters, as a command line does. A field that is left empty
/// is not given, unless an empty text is a value of its own: that of a parameter with a default.
pub(super) fn read_fields(params: &[PlanParam], texts: BTreeMap<String, String>) -> ReadFields {
    let mut values = JsonObject::new();
    for param in params {
        let kind = ParamField::of(param, None).kind;
        let text = texts.get(param.name.as_str()).map(|text| text.replace("\r\n", "\n"));
        let value = match (kind, text) {
            (FieldKind::Checkbox, text) => Some(Value::Bool(text.is_some_and(|text| text != "false"))),
            (FieldKind::Secret, _) | (_, None) => None,
            (FieldKind::Text | FieldKind::Lines, Some(text)) if text.is_empty() => {
                param.default.as_ref().map(|_| Value::String(text))
            }
            (_, Some(text)) if text.is_empty() => None,
            (_, Some(text)) => {
                let choice = choices_of(&param.schema).into_iter().find(|(choice, _)| *choice == text);
                Some(choice.map_or_else(|| param.schema.read(&text), |(_, value)| value))
            }
        };
        if let Some(value) = value {
            values.insert(param.name.to_string(), value);
        }
    }
    ReadFields { values, texts }
}

/// Returns the text from which a schema reads a value.
fn text_of(schema: &ValueSchema, value: &Value) -> String {
    match value.as_str() {
        Some(text) if schema.read(text) == *value => text.to_owned(),
        _ if value.is_array() || value.is_object() => serde_json::to_string_pretty(value).unwrap_or_default(),
        _ => value.to_string(),
    }
}

/// Returns the values to choose from, each with a text of its own: as JSON, if two would have the same, like 1 and "1".
fn choices_of(schema: &ValueSchema) -> Vec<(String, Value)> {
    let values = schema.text().get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let texts: BTreeSet<String> = values.iter().map(|value| text_of(schema, value)).collect();
    let is_unique = texts.len() == values.len();
    let text = |value: &Value| if is_unique { text_of(schema, value) } else { value.to_string() };
    values.iter().map(|value| (text(value), value.clone())).collect()
}

fn kind_of(schema: &ValueSchema, options: usize, text: &str) -> FieldKind {
    let word = |key: &str| schema.text().get(key).and_then(Value::as_str);
    let is_secret = schema.text().get("writeOnly") == Some(&Value::Bool(true));
    match (schema.simple_type(), word("format")) {
        _ if is_secret => FieldKind::Secret,
        (_, Some("password")) => FieldKind::Secret,
        _ if (1..=MAX_RADIO).contains(&options) => FieldKind::Radio,
        _ if options > 0 => FieldKind::Select,
        (Some("boolean"), _) => FieldKind::Checkbox,
        (Some("integer" | "number"), _) => FieldKind::Number,
        (Some("string"), Some("date")) => FieldKind::Date,
        (Some("string"), _) if is_long(schema) || !is_plain_line(text) => FieldKind::Lines,
        (Some("string"), _) => FieldKind::Text,
        _ => FieldKind::Json,
    }
}

fn is_long(schema: &ValueSchema) -> bool {
    schema.text().get("maxLength").and_then(Value::as_u64).is_some_and(|length| length >= LONG_TEXT)
}

/// True if a text is shown as it is: characters that hide are marked elsewhere, and a mark would come back.
fn is_plain_line(text: &str) -> bool {
    !text.contains('\n') && untrusted(text).block() == text
}

fn step_of(schema: &ValueSchema) -> String {
    match (schema.text().get("multipleOf"), schema.simple_type()) {
        (Some(step), _) => step.to_string(),
        (None, Some("integer")) => "1".to_owned(),
        (None, _) => "any".to_owned(),
    }
}

/// Returns the pattern of a whole text, as an attribute has it, for one that a part of the text matches; `None` if a browser
/// could read it as another one, or refuse it. The server checks it in any case.
fn whole_pattern(pattern: &str) -> Option<String> {
    let plain = |letter: char| letter.is_alphanumeric() || " _.,:;=@%^$*+?(){}|[]-".contains(letter);
    let mut previous = ' ';
    let mut depth = 0_usize;
    for letter in pattern.chars() {
        match letter {
            '[' | '(' | ')' | '{' | '}' | '|' if depth > 0 => return None,
            '[' => depth = 1,
            ']' if previous == '-' => return None,
            ']' => depth = 0,
            '-' if depth > 0 && !previous.is_alphanumeric() => return None,
            _ if !plain(letter) => return None,
            _ => {}
        }
        previous = letter;
    }
    Some(format!("[^\\n]*(?:{pattern})[^\\n]*"))
}

#[cfg(test)]
mod tests {
    use super::{FieldKind, ParamField, ReadFields, read_fields, whole_pattern};
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use wf_base::name::Name;
    use wf_model::{PlanParam, TaintLevel, ValueSchema};

    fn param(name: &str, schema: Value, default: Option<Value>) -> PlanParam {
        PlanParam {
            name: Name::parse(name).unwrap(),
            schema: ValueSchema::new(schema).unwrap(),
            default,
            taint: TaintLevel::Owner,
            description: None,
        }
    }

    #[test]
    fn each_schema_has_its_field() {
        let kind = |schema: Value| ParamField::of(&param("a", schema, None), None).kind;
        assert_eq!(kind(json!({"type": "string"})), FieldKind::Text);
        assert_eq!(kind(json!({"type": "string", "maxLength": 1000})), FieldKind::Lines);
        assert_eq!(kind(json!({"type": "string", "format": "date"})), FieldKind::Date);
        assert_eq!(kind(json!({"type": "string", "enum": ["a", "b"]})), FieldKind::Radio);
        assert_eq!(kind(json!({"enum": [1, 2, 3, 4, 5]})), FieldKind::Select);
        assert_eq!(kind(json!({"type": "boolean"})), FieldKind::Checkbox);
        assert_eq!(kind(json!({"type": "array"})), FieldKind::Json);
        assert_eq!(kind(json!({})), FieldKind::Json);
        assert_eq!(kind(json!({"type": "string", "format": "password"})), FieldKind::Secret);
        let number = param("n", json!({"type": "integer", "minimum": 1, "maximum": 9}), Some(json!(3)));
        let field = ParamField::of(&number, None);
        assert_eq!((field.kind, field.text.as_str(), field.is_required), (FieldKind::Number, "3", false));
        assert_eq!(
            [&field.min, &field.max, &field.step].map(Option::as_deref),
            [Some("1"), Some("9"), Some("1")]
        );
    }

    #[test]
    fn what_stands_in_the_fields_is_read_as_it_was() {
        let params = [
            param("text", json!({"type": "string"}), None),
            param("empty", json!({"type": "string"}), Some(json!("x"))),
            param("number", json!({"type": "number"}), Some(json!(1.5))),
            param("flag", json!({"type": "boolean"}), Some(json!(true))),
            param("list", json!({"type": "array"}), Some(json!([1, {"a": null}]))),
            param("any", json!({}), Some(json!("12"))),
            param("choice", json!({"enum": ["eu", 2]}), Some(json!(2))),
            param("key", json!({"type": "string", "writeOnly": true}), Some(json!("k"))),
        ];
        let values = json!({
            "text": "12", "empty": "two\nlines", "number": 2, "flag": true, "list": [[]], "any": "12", "choice": 2,
        });
        let fields = params.iter().map(|param| ParamField::of(param, values.get(param.name.as_str())));
        let texts = fields.map(|field| (field.name, field.text.replace('\n', "\r\n"))).collect();
        let ReadFields { values: read, .. } = read_fields(&params, texts);
        assert_eq!(Value::Object(read), values);
        let cleared =
            [("text", ""), ("empty", ""), ("number", "")].map(|(name, text)| (name.into(), text.into()));
        let ReadFields { values: read, .. } = read_fields(&params, cleared.into());
        assert_eq!(Value::Object(read), json!({"empty": "", "flag": false}));
    }

    #[test]
    fn values_with_the_same_text_are_told_apart() {
        let values = [json!(1), json!("1"), json!("one")];
        let choice = param("choice", json!({"enum": values}), None);
        for value in &values {
            let field = ParamField::of(&choice, Some(value));
            let chosen = field.options.iter().filter(|option| option.is_chosen);
            assert_eq!(chosen.count(), 1, "{value}");
            let texts = BTreeMap::from([(field.name, field.text)]);
            assert_eq!(read_fields(std::slice::from_ref(&choice), texts).values["choice"], *value);
        }
    }

    #[test]
    fn a_pattern_is_an_attribute_only_where_browsers_read_the_same() {
        assert_eq!(whole_pattern("^[a-z]+$").as_deref(), Some("[^\\n]*(?:^[a-z]+$)[^\\n]*"));
        for strange in ["[a-z.-]", "[(]", "\\p{L}", "[[]", "a/b"] {
            assert_eq!(whole_pattern(strange), None, "{strange}");
        }
    }
}
