//! What a model must answer for a gate, and how that is read (Silas 5.5.3). Nobody calls one yet:
//! the provider answers that there is none.
//!
//! **Invariant:** an answer that is not of the form asked for is no answer.

use serde::Deserialize;
use serde_json::Value;

use super::{Action, Answer};
use crate::model::Object;

/// The longest reason or flag that is kept, in characters.
const LONGEST: usize = 500;

/// The form of an answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    score: Option<f64>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    reason: String,
    action: Option<Action>,
}

/// Reads the answer of a model: one JSON object, at most inside of one fenced block. A gate that
/// advises asks for `{score, flags, reason}`, one that decides for `{action, reason, score}`.
/// What is wrong with an answer is told in one sentence.
pub fn read(text: &str, decides: bool) -> Result<Answer, String> {
    let value: Value = serde_json::from_str(bare(text))
        .map_err(|_| "the model's answer is not one JSON object".to_owned())?;
    let said: Said = serde_json::from_value(value)
        .map_err(|error| format!("the model's answer has another form: {error}"))?;
    if said
        .score
        .is_some_and(|score| !(0.0..=1.0).contains(&score))
    {
        return Err("the model's score is not between 0 and 1".into());
    }
    let action = match (decides, said.action) {
        (true, None) => return Err("the model's answer has no `action`".into()),
        (false, _) if said.score.is_none() => {
            return Err("the model's answer has no `score`".into());
        }
        (_, action) => action.unwrap_or(Action::Continue),
    };
    Ok(Answer {
        action,
        reason: short(&said.reason),
        score: said.score,
        flags: said.flags.iter().map(|flag| short(flag)).collect(),
        modified: Object::new(),
    })
}

/// The text inside of the one fenced block that it is, if it is one.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inside = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|inside| inside.split_once('\n')) {
        Some((language, inside)) if matches!(language.trim(), "" | "json") => inside.trim(),
        _ => text,
    }
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::gate::Action;
    use proptest::prelude::*;

    #[test]
    fn advice_has_a_score_flags_and_a_reason() {
        let text = r#"{"score": 0.25, "flags": ["vague"], "reason": "It says little."}"#;
        let answer = read(text, false).unwrap();
        assert_eq!(answer.action, Action::Continue);
        assert_eq!(answer.score, Some(0.25));
        assert_eq!(answer.flags, ["vague"]);
        assert_eq!(answer.reason, "It says little.");
        let fenced = format!("\n```json\n{text}\n```\n");
        assert_eq!(read(&fenced, false), Ok(answer));
    }

    #[test]
    fn a_decision_has_an_action() {
        for (word, action) in [
            ("continue", Action::Continue),
            ("block", Action::Block),
            ("require_approval", Action::RequireApproval),
        ] {
            let text = format!(r#"{{"action": "{word}", "reason": "so", "score": 1}}"#);
            assert_eq!(read(&text, true).unwrap().action, action);
        }
    }

    #[test]
    fn what_advice_wants_to_happen_is_kept_for_the_record() {
        let answer = read(r#"{"score": 0, "action": "block"}"#, false).unwrap();
        assert_eq!(answer.action, Action::Block);
    }

    #[test]
    fn what_has_another_form_is_no_answer() {
        for (text, decides, why) in [
            (
                "It is fine.",
                false,
                "the model's answer is not one JSON object",
            ),
            ("{} {}", false, "the model's answer is not one JSON object"),
            ("[]", false, "the model's answer has another form"),
            ("{}", false, "the model's answer has no `score`"),
            (
                r#"{"score": 1}"#,
                true,
                "the model's answer has no `action`",
            ),
            (
                r#"{"score": 1.5}"#,
                false,
                "the model's score is not between 0 and 1",
            ),
            (
                r#"{"score": -1}"#,
                false,
                "the model's score is not between 0 and 1",
            ),
            (
                r#"{"score": "1"}"#,
                false,
                "the model's answer has another form",
            ),
            (
                r#"{"score": 1, "flags": "a"}"#,
                false,
                "the model's answer has another form",
            ),
            (
                r#"{"action": "allow"}"#,
                true,
                "the model's answer has another form",
            ),
            (
                r#"{"action": "continue", "also": 1}"#,
                true,
                "the model's answer has another form",
            ),
        ] {
            let found = read(text, decides).unwrap_err();
            assert!(found.starts_with(why), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,80}", decides: bool) {
            if let Ok(answer) = read(&text, decides) {
                prop_assert!(answer.score.is_none_or(|score| (0.0..=1.0).contains(&score)));
            }
        }
    }
}
