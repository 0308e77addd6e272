//! The output of a gate's program, read into an answer. Anything unclear is a mistake, and no answer.

use serde_json::Value;

use wf_base::exact_json;
use wf_core::gate::{CALL_TEXTS, GateAction, GateAnswer};
use wf_model::JsonObject;

/// The maximum length of a stored reason or flag, in characters.
const MAX_TEXT_CHARS: usize = 500;

/// The output of a gate's program: values by name, and among them the answer.
///
/// A line `NAME: VALUE` sets a text; a line that is a JSON object sets all its members. The last
/// value of a name wins. The names `action`, `reason`, `score`, `flags` and `modified_context` are
/// the answer (Silas 5.5.4).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GateOutput {
    /// All named values.
    pub(super) values: JsonObject,
    /// The answer; `continue` if the program prints no action.
    pub(super) answer: GateAnswer,
}

/// The mistake in the output of a gate's program: an invalid value of its answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum GateOutputMistake {
    #[error("invalid action {0}: expected `continue`, `block` or `require_approval`")]
    Action(Value),
    /// A value is not of the kind that its name asks for.
    #[error("`{name}` is not {expected}")]
    Kind { name: &'static str, expected: &'static str },
}

impl GateOutput {
    /// Parses standard output.
    pub(super) fn parse(text: &str) -> Result<Self, GateOutputMistake> {
        let mut values = JsonObject::new();
        for line in text.lines() {
            let line = line.trim();
            if line.starts_with('{')
                && let Ok(Value::Object(members)) = exact_json::read(line)
            {
                values.extend(members);
            } else if let Some((name, value)) = line.split_once(':')
                && is_name(name)
            {
                values.insert(name.to_owned(), value.trim().into());
            }
        }
        let answer = GateAnswer {
            action: action(values.get("action"))?,
            reason: reason(values.get("reason"))?,
            score: score(values.get("score"))?,
            flags: flags(values.get("flags"))?,
            modified: modified_context(values.get("modified_context"))?,
        };
        Ok(Self { values, answer })
    }
}

impl GateOutput {
    /// Makes the named texts for a model call a part of the answer.
    pub(super) fn take_call_texts(&mut self) {
        for name in CALL_TEXTS {
            if let Some(text) = self.values.get(name) {
                self.answer.modified.entry(name).or_insert_with(|| text.clone());
            }
        }
    }
}

/// True for single words, so a line of prose or a URL sets nothing.
fn is_name(name: &str) -> bool {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().all(in_word)
}

fn action(field: Option<&Value>) -> Result<GateAction, GateOutputMistake> {
    let Some(said) = field else {
        return Ok(GateAction::Continue);
    };
    serde_json::from_value(said.clone()).map_err(|_| GateOutputMistake::Action(said.clone()))
}

fn reason(field: Option<&Value>) -> Result<String, GateOutputMistake> {
    match field {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(short(text)),
        Some(_) => Err(GateOutputMistake::Kind { name: "reason", expected: "a string" }),
    }
}

/// Parses a score, which is text if it was printed as a line.
fn score(field: Option<&Value>) -> Result<Option<f64>, GateOutputMistake> {
    let number = match field {
        None => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_f64(),
    };
    match number {
        Some(score) if (0.0..=1.0).contains(&score) => Ok(Some(score)),
        _ => Err(GateOutputMistake::Kind { name: "score", expected: "a number from 0 to 1" }),
    }
}

/// Parses flags, which are separated by commas if they were printed as a line.
fn flags(field: Option<&Value>) -> Result<Vec<String>, GateOutputMistake> {
    let wrong = GateOutputMistake::Kind { name: "flags", expected: "a list of strings" };
    match field {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => {
            let parts = text.split(',').map(str::trim);
            Ok(parts.filter(|part| !part.is_empty()).map(short).collect())
        }
        Some(Value::Array(all)) => {
            let texts = all.iter().map(|flag| flag.as_str().map(short));
            texts.collect::<Option<_>>().ok_or(wrong)
        }
        Some(_) => Err(wrong),
    }
}

fn modified_context(field: Option<&Value>) -> Result<JsonObject, GateOutputMistake> {
    let object = match field {
        None => return Ok(JsonObject::new()),
        Some(Value::String(text)) => exact_json::read(text).ok(),
        Some(Value::Object(members)) => Some(members.clone()),
        Some(_) => None,
    };
    object.ok_or(GateOutputMistake::Kind { name: "modified_context", expected: "a JSON object" })
}

fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::GateOutput;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use wf_core::gate::GateAction;

    fn values(text: &str) -> Value {
        Value::Object(GateOutput::parse(text).unwrap().values)
    }

    #[test]
    fn lines_give_names_to_texts() {
        let text = "Looking at it.\nlines: 12\n  path: /a:b \nhttp://x\nnot a name: x\nempty:\n";
        let expected = json!({ "lines": "12", "path": "/a:b", "http": "//x", "empty": "" });
        assert_eq!(values(text), expected);
    }

    #[test]
    fn a_json_object_gives_all_its_members_and_what_is_later_counts() {
        let text = "lines: 1\n{\"lines\": 2, \"deep\": {\"a\": [1]}}\n{broken\nlines: 3\n";
        assert_eq!(values(text), json!({ "lines": "3", "deep": { "a": [1] } }));
    }

    #[test]
    fn the_answer_is_among_them() {
        let all = "{\"action\": \"block\", \"reason\": \"no\", \"score\": 0.5, \"flags\": [\"a\"]}";
        let lines = "action: block\nreason: no\nscore: 0.5\nflags: a\n";
        for text in [all, lines] {
            let answer = GateOutput::parse(text).unwrap().answer;
            assert_eq!(answer.action, GateAction::Block);
            assert_eq!((answer.reason.as_str(), answer.score), ("no", Some(0.5)));
            assert_eq!(answer.flags, ["a"]);
        }
        assert_eq!(GateOutput::parse("").unwrap().answer.action, GateAction::Continue);
        let flags = GateOutput::parse("flags: a, b,,c\n").unwrap().answer.flags;
        assert_eq!(flags, ["a", "b", "c"]);
    }

    #[test]
    fn what_is_to_be_rewritten_is_a_json_object() {
        let line = "modified_context: {\"response\": \"x\"}\n";
        let object = "{\"modified_context\": {\"response\": \"x\"}}\n";
        for text in [line, object] {
            let modified = GateOutput::parse(text).unwrap().answer.modified;
            assert_eq!(Value::Object(modified), json!({ "response": "x" }));
        }
    }

    #[test]
    fn an_answer_that_cannot_be_understood_is_none() {
        for (text, reason) in [
            ("action: allow", "invalid action \"allow\": expected"),
            ("{\"action\": null}", "invalid action null: expected"),
            ("{\"reason\": 1}", "`reason` is not a string"),
            ("score: 2", "`score` is not a number from 0 to 1"),
            ("score: NaN", "`score` is not a number from 0 to 1"),
            ("{\"flags\": [1]}", "`flags` is not a list of strings"),
            ("modified_context: []", "`modified_context` is not a JSON object"),
        ] {
            let found = GateOutput::parse(text).unwrap_err().to_string();
            assert!(found.starts_with(reason), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_output_is_read(text in "(?s).{0,200}") {
            if let Ok(said) = GateOutput::parse(&text) {
                prop_assert!(said.answer.reason.chars().count() <= 500);
            }
        }
    }
}
