//! Typed answers of people, beyond yes.
//!
//! A request carries what may be answered ([`AnswerOptions`]), so the digest of the proposal covers it; a signed
//! statement carries the answer itself ([`TypedAnswer`]). **Invariant:** each answer has one form. A yes without an answer
//! means the text as it is, or the whole list; that is why an unchanged text or a selection of everything is none.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::words::{ApprovalOutcome, ApprovalRequest};
use wf_model::{
    AnswerChoices, AnswerKind, JsonObject,
    expr::{EvalError, ExprScope},
};

/// The maximum number of words to choose from.
const MOST_CHOICES: usize = 50;

/// The answers permitted by a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOptions {
    /// Exactly one of these words.
    Choose(Vec<String>),
    /// A text, as it is or changed.
    Edit {
        /// The draft.
        text: String,
        /// The maximum number of characters.
        max_length: u32,
    },
    /// All entries of this list, or some in its order.
    Select(Vec<Value>),
}

/// The answer to a request, beyond yes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TypedAnswer {
    /// The chosen word.
    Choice(String),
    /// The changed text.
    Text(String),
    /// The positions of the selected entries, from 1: some, not all.
    Selected(Vec<u32>),
}

/// The reason why nobody could answer a request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnswerOptionsError {
    /// A value cannot be computed.
    #[error(transparent)]
    Eval(#[from] EvalError),
    #[error("`answer.{key}` is no list, but {kind}")]
    NotList { key: &'static str, kind: &'static str },
    #[error("the list of `answer.{0}` is empty: skip the step with `when`")]
    NoEntry(&'static str),
    #[error("the list of `answer.{key}` has {count} entries, and may have {most}: ask in parts")]
    ManyEntries { key: &'static str, count: usize, most: usize },
    #[error("the list of `answer.choose` has `{0}` twice, or an empty text")]
    RepeatedWord(String),
    #[error("the list of `answer.choose` has {0}, not only texts")]
    NotText(&'static str),
    #[error("the text of `answer.edit` has {length} characters, and may have {most}")]
    LongText { length: usize, most: u32 },
}

/// The reason why an answer is not permitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypedAnswerMistake {
    /// The request permits no answer beyond yes and no.
    #[error("only yes or no is asked for, not a {0}")]
    Unasked(TypedAnswer),
    /// The request asks for another kind of answer.
    #[error("{answer} is no answer to `{asked}`")]
    OtherKind { answer: TypedAnswer, asked: &'static str },
    #[error("a yes does not say which; the choices are: {}", .choices.join(", "))]
    NoChoice { choices: Vec<String> },
    #[error("`{word}` is not to choose from; the choices are: {}", .choices.join(", "))]
    UnknownChoice { word: String, choices: Vec<String> },
    #[error("the text is as it was: a plain yes says that")]
    SameText,
    #[error("the text has {length} characters, and may have {most}")]
    LongText { length: usize, most: u32 },
    #[error("nothing is selected: a no says that")]
    NoneSelected,
    #[error("everything is selected: a plain yes says that")]
    AllSelected,
    #[error("the selection must be in the order of the list, and name no entry twice")]
    Order,
    #[error("there is no entry {position}; the list has {count}")]
    NoSuchEntry { position: u32, count: usize },
}

impl AnswerOptions {
    /// The maximum number of entries of a list to select from.
    pub const MOST_SELECTED: usize = 500;

    /// Returns the answers that a step permits with the values of its run.
    pub(in crate::machine) fn of(
        kind: &AnswerKind,
        scope: &dyn ExprScope,
    ) -> Result<Self, AnswerOptionsError> {
        let options = match kind {
            AnswerKind::Choose(AnswerChoices::List(words)) => Self::Choose(words.clone()),
            AnswerKind::Choose(AnswerChoices::Computed(list)) => Self::Choose(words(list.value(scope)?)?),
            AnswerKind::Edit { text, max_length } => {
                Self::Edit { text: text.render(scope)?, max_length: *max_length }
            }
            AnswerKind::Select(list) => match list.value(scope)? {
                Value::Array(entries) => Self::Select(entries),
                other => return Err(AnswerOptionsError::NotList { key: "select", kind: kind_of(&other) }),
            },
        };
        options.obstacle().map_or(Ok(options), Err)
    }

    /// Returns the reason why nobody could answer.
    fn obstacle(&self) -> Option<AnswerOptionsError> {
        let (key, count, most) = match self {
            Self::Choose(words) => ("choose", words.len(), MOST_CHOICES),
            Self::Select(entries) => ("select", entries.len(), Self::MOST_SELECTED),
            Self::Edit { text, max_length } => {
                let (length, most) = (text.chars().count(), *max_length);
                return (length > most as usize).then_some(AnswerOptionsError::LongText { length, most });
            }
        };
        if count == 0 {
            return Some(AnswerOptionsError::NoEntry(key));
        }
        (count > most).then_some(AnswerOptionsError::ManyEntries { key, count, most })
    }

    /// Returns the output with the value of an answer.
    pub fn output(&self, answer: Option<&TypedAnswer>) -> Result<(&'static str, Value), TypedAnswerMistake> {
        match (self, answer) {
            (Self::Choose(words), Some(TypedAnswer::Choice(word))) if words.contains(word) => {
                Ok(("choice", word.as_str().into()))
            }
            (Self::Choose(words), Some(TypedAnswer::Choice(word))) => {
                Err(TypedAnswerMistake::UnknownChoice { word: word.clone(), choices: words.clone() })
            }
            (Self::Choose(words), None) => Err(TypedAnswerMistake::NoChoice { choices: words.clone() }),
            (Self::Edit { text, .. }, None) => Ok(("text", text.as_str().into())),
            (Self::Edit { text, max_length }, Some(TypedAnswer::Text(new))) => {
                let length = new.chars().count();
                if new == text {
                    Err(TypedAnswerMistake::SameText)
                } else if length > *max_length as usize {
                    Err(TypedAnswerMistake::LongText { length, most: *max_length })
                } else {
                    Ok(("text", new.as_str().into()))
                }
            }
            (Self::Select(entries), None) => Ok(("selected", entries.clone().into())),
            (Self::Select(entries), Some(TypedAnswer::Selected(positions))) => {
                selected(entries, positions).map(|some| ("selected", some.into()))
            }
            (options, Some(other)) => {
                Err(TypedAnswerMistake::OtherKind { answer: other.clone(), asked: options.as_str() })
            }
        }
    }

    /// Returns its word in a plan.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Choose(_) => "choose",
            Self::Edit { .. } => "edit",
            Self::Select(_) => "select",
        }
    }
}

/// Returns the entries at some positions.
fn selected(entries: &[Value], positions: &[u32]) -> Result<Vec<Value>, TypedAnswerMistake> {
    let count = entries.len();
    if positions.is_empty() {
        return Err(TypedAnswerMistake::NoneSelected);
    }
    if !positions.is_sorted_by(|one, next| one < next) {
        return Err(TypedAnswerMistake::Order);
    }
    let at = |position: &u32| {
        let entry = (*position as usize).checked_sub(1).and_then(|index| entries.get(index));
        entry.cloned().ok_or(TypedAnswerMistake::NoSuchEntry { position: *position, count })
    };
    let some: Vec<Value> = positions.iter().map(at).collect::<Result<_, _>>()?;
    if some.len() == count {
        return Err(TypedAnswerMistake::AllSelected);
    }
    Ok(some)
}

/// Returns the different words of a computed list.
fn words(list: Value) -> Result<Vec<String>, AnswerOptionsError> {
    let Value::Array(entries) = list else {
        return Err(AnswerOptionsError::NotList { key: "choose", kind: kind_of(&list) });
    };
    let mut found: Vec<String> = Vec::new();
    for entry in entries {
        match entry {
            Value::String(word) if word.is_empty() || found.contains(&word) => {
                return Err(AnswerOptionsError::RepeatedWord(word));
            }
            Value::String(word) => found.push(word),
            other => return Err(AnswerOptionsError::NotText(kind_of(&other))),
        }
    }
    Ok(found)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl fmt::Display for TypedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(word) => write!(f, "choice `{word}`"),
            Self::Text(text) => write!(f, "changed text, {} characters", text.chars().count()),
            Self::Selected(positions) => {
                let ranges: Vec<String> = positions
                    .chunk_by(|one, next| one.checked_add(1) == Some(*next))
                    .map(range_text)
                    .collect();
                write!(f, "selection {}", ranges.join(", "))
            }
        }
    }
}

/// Consecutive positions as a range: `4-9`.
fn range_text(positions: &[u32]) -> String {
    match positions {
        [first, _, .., last] => format!("{first}-{last}"),
        _ => positions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

impl ApprovalRequest {
    /// Checks that an answer, or a yes without one, is permitted.
    pub fn check_answer(&self, answer: Option<&TypedAnswer>) -> Result<(), TypedAnswerMistake> {
        check_answer(self.answer.as_ref(), answer)
    }

    /// Returns the values that an approval makes the outputs of a step: those shown, and that of the answer.
    pub fn approved_outputs(&self, outcome: &ApprovalOutcome) -> Result<JsonObject, TypedAnswerMistake> {
        let mut outputs = self.show.clone();
        match &self.answer {
            None => self.check_answer(outcome.answer.as_ref())?,
            Some(options) => {
                let (name, value) = options.output(outcome.answer.as_ref())?;
                outputs.insert(name.into(), value);
            }
        }
        Ok(outputs)
    }
}

/// Checks that an answer is among the options.
pub fn check_answer(
    options: Option<&AnswerOptions>,
    answer: Option<&TypedAnswer>,
) -> Result<(), TypedAnswerMistake> {
    match (options, answer) {
        (None, None) => Ok(()),
        (None, Some(answer)) => Err(TypedAnswerMistake::Unasked(answer.clone())),
        (Some(options), answer) => options.output(answer).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{AnswerOptions, MOST_CHOICES, TypedAnswer, check_answer, words};

    fn mails() -> AnswerOptions {
        AnswerOptions::Select(vec![json!("a"), json!({"id": 2}), json!("c")])
    }

    fn draft() -> AnswerOptions {
        AnswerOptions::Edit { text: "Dear all".into(), max_length: 10 }
    }

    fn refusal(options: &AnswerOptions, answer: &TypedAnswer) -> String {
        options.output(Some(answer)).unwrap_err().to_string()
    }

    #[test]
    fn one_word_is_chosen() {
        let options = AnswerOptions::Choose(vec!["keep".into(), "archive".into()]);
        let chosen = options.output(Some(&TypedAnswer::Choice("archive".into())));
        assert_eq!(chosen, Ok(("choice", json!("archive"))));
        assert!(refusal(&options, &TypedAnswer::Choice("burn".into())).contains("keep, archive"));
        assert!(options.output(None).unwrap_err().to_string().contains("which"));
        assert!(refusal(&options, &TypedAnswer::Text("keep".into())).contains("`choose`"));
    }

    #[test]
    fn a_text_is_changed_or_stays() {
        assert_eq!(draft().output(None), Ok(("text", json!("Dear all"))));
        let changed = TypedAnswer::Text("Dear team".into());
        assert_eq!(draft().output(Some(&changed)), Ok(("text", json!("Dear team"))));
        assert!(refusal(&draft(), &TypedAnswer::Text("Dear all".into())).contains("as it was"));
        assert!(refusal(&draft(), &TypedAnswer::Text("Dear everyone".into())).contains("13 characters"));
    }

    #[test]
    fn a_strict_subset_is_selected_in_order() {
        let all = json!(["a", {"id": 2}, "c"]);
        assert_eq!(mails().output(None), Ok(("selected", all)));
        let some = mails().output(Some(&TypedAnswer::Selected(vec![1, 3])));
        assert_eq!(some, Ok(("selected", json!(["a", "c"]))));
        for (positions, told) in [
            (vec![], "nothing is selected"),
            (vec![3, 1], "in the order"),
            (vec![1, 1], "twice"),
            (vec![0], "no entry 0"),
            (vec![2, 4], "no entry 4; the list has 3"),
            (vec![1, 2, 3], "a plain yes"),
        ] {
            let refused = refusal(&mails(), &TypedAnswer::Selected(positions));
            assert!(refused.contains(told), "{refused}");
        }
    }

    #[test]
    fn consecutive_positions_are_shown_as_a_range() {
        let shown = |positions: &[u32]| TypedAnswer::Selected(positions.to_vec()).to_string();
        assert_eq!(shown(&[1, 3]), "selection 1, 3");
        assert_eq!(shown(&[1, 2, 4, 5, 6, 9]), "selection 1, 2, 4-6, 9");
        assert_eq!(shown(&[u32::MAX]), "selection 4294967295");
    }

    #[test]
    fn a_plain_question_has_no_answer_but_yes() {
        assert_eq!(check_answer(None, None), Ok(()));
        let choice = TypedAnswer::Choice("keep".into());
        assert!(check_answer(None, Some(&choice)).unwrap_err().to_string().contains("yes or no"));
    }

    #[test]
    fn a_request_that_nobody_could_answer_is_none() {
        let many = |count| AnswerOptions::Select(vec![Value::Null; count]).obstacle();
        let refused = many(AnswerOptions::MOST_SELECTED + 1).unwrap().to_string();
        assert!(refused.contains("501 entries, and may have 500"), "{refused}");
        assert_eq!(many(AnswerOptions::MOST_SELECTED), None);
        let words = AnswerOptions::Choose(vec![String::new(); MOST_CHOICES + 1]);
        assert!(words.obstacle().unwrap().to_string().contains("51 entries, and may have 50"));
        assert!(AnswerOptions::Choose(Vec::new()).obstacle().unwrap().to_string().contains("empty"));
        let long = AnswerOptions::Edit { text: "x".repeat(11), max_length: 10 };
        assert!(long.obstacle().unwrap().to_string().contains("11 characters"));
    }

    #[test]
    fn computed_choices_are_different_words() {
        assert_eq!(words(json!(["a", "b"])), Ok(vec!["a".into(), "b".into()]));
        for bad in [json!("a"), json!(["a", "a"]), json!([""]), json!([1])] {
            assert!(words(bad).is_err());
        }
    }
}
