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

/// Reads the suggestions in an output; the error names the first that is none.
pub fn read_suggestions(value: &Value, plans: &[SuggestedPlan]) -> Result<Vec<Suggestion>, String> {
    let list = value.as_array().ok_or("it is no list")?;
    let numbered = list.iter().zip(1..);
    numbered
        .map(|(one, number): (_, u32)| read(one, plans).map_err(|reason| format!("entry {number}: {reason}")))
        .collect()
}

fn read(value: &Value, plans: &[SuggestedPlan]) -> Result<Suggestion, String> {
    let written = WrittenSuggestion::deserialize(value).map_err(|error| error.to_string())?;
    let WrittenSuggestion { title, why, uses, with } = written;
    let (title, why) = (title.trim().to_owned(), why.trim().to_owned());
    if title.is_empty() || title.chars().count() > MAX_TITLE {
        return Err(format!("`title` must have 1 to {MAX_TITLE} characters"));
    }
    if why.chars().count() > MAX_REASON {
        return Err(format!("`why` must have at most {MAX_REASON} characters"));
    }
    let Some(plan) = plans.iter().find(|plan| plan.name == uses) else {
        let names: Vec<String> = plans.iter().map(|plan| format!("`{}`", plan.name)).collect();
        return Err(format!("`uses` must be one of {}", names.join(", ")));
    };
    Ok(Suggestion { title, why, path: plan.path.clone(), params: with })
}

#[cfg(test)]
mod tests {
    use super::read_suggestions;
    use serde_json::{Value, json};
    use wf_model::SuggestedPlan;

    fn read(value: &Value) -> Result<Vec<String>, String> {
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
            let refused = read(&value).unwrap_err();
            assert!(refused.starts_with(reason), "{refused}");
        }
    }
}
