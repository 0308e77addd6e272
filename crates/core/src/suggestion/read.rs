use serde::Deserialize;
use serde_json::Value;

use super::Suggestion;
use wf_model::{JsonObject, SuggestedPlan};

/// The longest title and the longest reason, in characters.
const MAX_TITLE: usize = 200;
const MAX_REASON: usize = 1000;

/// A suggestion as an output has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSuggestion {
    title: String,
    #[serde(default)]
    why: String,
    uses: String,
    #[serde(default)]
    with: JsonObject,
}

/// The mistake in an output of suggestions.
#[derive(Debug, thiserror::Error)]
pub enum SuggestionListMistake {
    #[error("it is no list")]
    NotList,
    #[error("entry {number}: {mistake}")]
    Entry { number: u32, mistake: SuggestionMistake },
}

/// The reason why an entry is no suggestion.
#[derive(Debug, thiserror::Error)]
pub enum SuggestionMistake {
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    #[error("`title` must have 1 to {MAX_TITLE} characters")]
    Title,
    #[error("`why` must have at most {MAX_REASON} characters")]
    Reason,
    /// The plan is not among those the workspace lists.
    #[error("`uses` must be one of {}", plan_list(.0))]
    UnlistedPlan(Vec<String>),
}

fn plan_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Reads the suggestions in an output, up to the first mistake.
pub fn read_suggestions(
    value: &Value,
    plans: &[SuggestedPlan],
) -> Result<Vec<Suggestion>, SuggestionListMistake> {
    let list = value.as_array().ok_or(SuggestionListMistake::NotList)?;
    let numbered = list.iter().zip(1..);
    let suggestions = numbered.map(|(entry, number): (_, u32)| {
        read(entry, plans).map_err(|mistake| SuggestionListMistake::Entry { number, mistake })
    });
    suggestions.collect()
}

fn read(value: &Value, plans: &[SuggestedPlan]) -> Result<Suggestion, SuggestionMistake> {
    let written = WrittenSuggestion::deserialize(value)?;
    let WrittenSuggestion { title, why, uses, with } = written;
    let (title, why) = (title.trim().to_owned(), why.trim().to_owned());
    if title.is_empty() || title.chars().count() > MAX_TITLE {
        return Err(SuggestionMistake::Title);
    }
    if why.chars().count() > MAX_REASON {
        return Err(SuggestionMistake::Reason);
    }
    let Some(plan) = plans.iter().find(|plan| plan.name == uses) else {
        return Err(SuggestionMistake::UnlistedPlan(plans.iter().map(|plan| plan.name.clone()).collect()));
    };
    Ok(Suggestion { title, why, path: plan.path.clone(), params: with })
}

#[cfg(test)]
mod tests {
    use super::{SuggestionListMistake, read_suggestions};
    use serde_json::{Value, json};
    use wf_model::SuggestedPlan;

    fn read(value: &Value) -> Result<Vec<String>, SuggestionListMistake> {
        let plans = [SuggestedPlan { name: "../sort.md".into(), path: "sort.md".into() }];
        let read = read_suggestions(value, &plans)?;
        Ok(read
            .iter()
            .map(|one| format!("{}|{}|{}|{}", one.title, one.why, one.path, json!(one.params)))
            .collect())
    }

    #[test]
    fn a_suggestion_names_a_plan_that_is_listed() {
        let all = json!([
            {"title": " Sort ", "why": "It is full.", "uses": "../sort.md", "with": {"folder": "inbox"}},
            {"title": "Sort", "uses": "../sort.md"},
        ]);
        let wanted = ["Sort|It is full.|sort.md|{\"folder\":\"inbox\"}", "Sort||sort.md|{}"];
        assert_eq!(read(&all).unwrap(), wanted);
        assert_eq!(read(&json!([])).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_none_is_refused_with_its_place() {
        for (value, reason) in [
            (json!({}), "it is no list"),
            (
                json!([{"title": "a", "uses": "../sort.md"}, {"title": "a", "uses": "sort.md"}]),
                "entry 2: `uses` must be one of `../sort.md`",
            ),
            (json!([{"title": " ", "uses": "../sort.md"}]), "entry 1: `title` must have 1 to 200 characters"),
            (
                json!([{"title": "a", "why": "b".repeat(1001), "uses": "../sort.md"}]),
                "entry 1: `why` must have at most 1000",
            ),
            (json!([{"title": "a", "uses": "../sort.md", "risk": "low"}]), "entry 1: unknown field `risk`"),
            (json!([{"uses": "../sort.md"}]), "entry 1: missing field `title`"),
            (json!(["Sort"]), "entry 1: invalid type"),
        ] {
            let refused = read(&value).unwrap_err().to_string();
            assert!(refused.starts_with(reason), "{refused}");
        }
    }
}
