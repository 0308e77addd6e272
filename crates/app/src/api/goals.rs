//! The goals of a workspace, with their health and their next time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Caller, CliExitCode, CommandError, views::goal_listings};
use wf_base::time::Moment;

/// The goals of a workspace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "GoalList")]
pub struct ApiGoalList {
    pub goals: Vec<ApiGoal>,
}

/// A goal.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Goal")]
pub struct ApiGoal {
    pub id: String,
    /// The path of its file, relative to the workspace.
    pub path: String,
    pub title: Option<String>,
    /// The reason why its file is no goal.
    pub broken: Option<String>,
    /// `healthy`, `repaired`, `reported`, `failed`, `unknown`, `waiting`, `blocked` and others; absent: it was not looked at yet.
    pub health: Option<String>,
    /// The reason for its health.
    pub reason: Option<String>,
    /// The time since which it is so.
    pub since: Option<Moment>,
    /// Absent: it is not paused.
    pub paused: Option<ApiGoalPause>,
    /// The next time at which it is looked at.
    pub next: Option<Moment>,
}

/// The pause of a goal.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "GoalPause")]
pub struct ApiGoalPause {
    pub since: Moment,
    pub reason: String,
}

/// Returns the goals of a workspace, by path.
pub fn api_goals(caller: &dyn Caller) -> Result<ApiGoalList, CommandError> {
    let goals = goal_listings(caller)?.into_iter().map(|listing| {
        // The document of a goal has more keys than these; a key that changed its form is a mistake of this program.
        serde_json::from_value(listing.json())
            .map_err(|error| CommandError::new(CliExitCode::Bug, format!("the document of a goal: {error}")))
    });
    Ok(ApiGoalList { goals: goals.collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::ApiGoal;
    use serde_json::json;

    #[test]
    fn a_goal_is_read_from_its_document() {
        let goal: ApiGoal = serde_json::from_value(json!({
            "id": "mirror", "path": "goals/mirror.md", "title": null, "health": "failed", "reason": "old",
            "since": "2026-11-21T07:00:00.000Z", "paused": {"since": "2026-11-21T08:00:00.000Z", "reason": "rain"},
            "next": null, "deployed": null, "waits": null,
        }))
        .unwrap();
        assert_eq!((goal.health.as_deref(), goal.broken), (Some("failed"), None));
        assert_eq!(goal.paused.unwrap().reason, "rain");
        let broken: ApiGoal =
            serde_json::from_value(json!({"id": "x", "path": "goals/x.md", "broken": "no `verify`"}))
                .unwrap();
        assert_eq!(broken.broken.as_deref(), Some("no `verify`"));
    }
}
