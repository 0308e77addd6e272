use serde_json::Value;

use crate::gate::{Action, Answer};
use crate::model::Object;

/// The longest reason or flag that is kept, in characters.
const LONGEST: usize = 500;

/// What a program printed: values by name, and among them an answer.
///
/// A line `NAME: VALUE` gives a text its name; a line that is a JSON object gives all its members.
/// What comes later counts. The names `action`, `reason`, `score`, `flags` and `modified_context`
/// are the answer (Silas 5.5.4).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    /// All that has a name.
    pub(super) values: Object,
    /// The answer; it goes on if the program does not say what is to happen.
    pub(super) answer: Answer,
}

impl Said {
    /// Reads standard output. A value of the answer that cannot be understood is told.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut values = Object::new();
        for line in text.lines() {
            let line = line.trim();
            if line.starts_with('{')
                && let Ok(Value::Object(members)) = serde_json::from_str(line)
            {
                values.extend(members);
            } else if let Some((name, value)) = line.split_once(':')
                && is_name(name)
            {
                values.insert(name.to_owned(), value.trim().into());
            }
        }
        let answer = Answer {
            action: action(values.get("action"))?,
            reason: reason(values.get("reason"))?,
            score: score(values.get("score"))?,
            flags: flags(values.get("flags"))?,
            modified: modified(values.get("modified_context"))?,
        };
        Ok(Self { values, answer })
    }
}

/// Names are words, so that a line of prose or an address gives none.
fn is_name(name: &str) -> bool {
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().all(in_word)
}

fn action(said: Option<&Value>) -> Result<Action, String> {
    let Some(said) = said else {
        return Ok(Action::Continue);
    };
    serde_json::from_value(said.clone()).map_err(|_| {
        let words = "`continue`, `block` or `require_approval`";
        format!("it printed the action {said}, which is not {words}")
    })
}

fn reason(said: Option<&Value>) -> Result<String, String> {
    match said {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(short(text)),
        Some(_) => Err("it printed a reason that is no text".into()),
    }
}

/// A score can be printed as a line, where it is text.
fn score(said: Option<&Value>) -> Result<Option<f64>, String> {
    let number = match said {
        None => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_f64(),
    };
    match number {
        Some(score) if (0.0..=1.0).contains(&score) => Ok(Some(score)),
        _ => Err("it printed a score that is no number from 0 to 1".into()),
    }
}

/// Flags can be printed as a line, where commas separate them.
fn flags(said: Option<&Value>) -> Result<Vec<String>, String> {
    let wrong = || "it printed flags that are no list of texts".to_owned();
    match said {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => {
            let parts = text.split(',').map(str::trim);
            Ok(parts.filter(|part| !part.is_empty()).map(short).collect())
        }
        Some(Value::Array(all)) => {
            let texts = all.iter().map(|flag| flag.as_str().map(short));
            texts.collect::<Option<_>>().ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

fn modified(said: Option<&Value>) -> Result<Object, String> {
    let object = match said {
        None => return Ok(Object::new()),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(Value::Object(members)) => Some(members.clone()),
        Some(_) => None,
    };
    object.ok_or_else(|| "it printed a `modified_context` that is no JSON object".into())
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::Said;
    use crate::gate::Action;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn values(text: &str) -> Value {
        Value::Object(Said::read(text).unwrap().values)
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
            let answer = Said::read(text).unwrap().answer;
            assert_eq!(answer.action, Action::Block);
            assert_eq!((answer.reason.as_str(), answer.score), ("no", Some(0.5)));
            assert_eq!(answer.flags, ["a"]);
        }
        assert_eq!(Said::read("").unwrap().answer.action, Action::Continue);
        let flags = Said::read("flags: a, b,,c\n").unwrap().answer.flags;
        assert_eq!(flags, ["a", "b", "c"]);
    }

    #[test]
    fn what_is_to_be_rewritten_is_a_json_object() {
        let line = "modified_context: {\"response\": \"x\"}\n";
        let object = "{\"modified_context\": {\"response\": \"x\"}}\n";
        for text in [line, object] {
            let modified = Said::read(text).unwrap().answer.modified;
            assert_eq!(Value::Object(modified), json!({ "response": "x" }));
        }
    }

    #[test]
    fn an_answer_that_cannot_be_understood_is_none() {
        for (text, why) in [
            (
                "action: allow",
                "it printed the action \"allow\", which is not",
            ),
            (
                "{\"action\": null}",
                "it printed the action null, which is not",
            ),
            ("{\"reason\": 1}", "it printed a reason that is no text"),
            (
                "score: 2",
                "it printed a score that is no number from 0 to 1",
            ),
            (
                "score: NaN",
                "it printed a score that is no number from 0 to 1",
            ),
            (
                "{\"flags\": [1]}",
                "it printed flags that are no list of texts",
            ),
            (
                "modified_context: []",
                "it printed a `modified_context` that is no JSON object",
            ),
        ] {
            let found = Said::read(text).unwrap_err();
            assert!(found.starts_with(why), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_output_is_read(text in "(?s).{0,200}") {
            if let Ok(said) = Said::read(&text) {
                prop_assert!(said.answer.reason.chars().count() <= 500);
            }
        }
    }
}
