use serde::Serialize;

use wf_base::untrusted::hides;
use wf_core::risk::risk_of_plan;
use wf_model::{
    Goal, JsonObject, Plan,
    summary::{self, RiskDirection, SummaryBuilder, SummaryLine, SummaryLineKind},
};

/// The settings of the workspace applying to every plan.
#[derive(Clone, Debug)]
pub struct WorkspaceSettings<'a> {
    /// True if checks, and steps with `allow`, run in a sandbox.
    pub is_sandboxed: bool,
    /// The paths every sandbox may read besides the workspace.
    pub readable_paths: &'a [String],
    /// Patterns of variables every step sees.
    pub env_passthrough: &'a [String],
    /// The models, roles, servers of tools and backends within reach of the plan: keys and values.
    pub named: Vec<(String, String)>,
}

/// Everything a plan will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PlanSummary {
    /// One thing each: the plan, its steps in order, the plans it uses.
    pub lines: Vec<SummaryLine>,
}

impl PlanSummary {
    /// Takes a plan apart, with everything it uses. `path` is its file.
    pub fn of_plan(plan: &Plan, path: &str) -> Self {
        Self { lines: summary::of_plan(plan, path) }
    }

    /// Returns the risk of a plan with all it uses. No plan declares it, so it is no part of what a plan says.
    pub(super) fn of_risk(plan: &Plan) -> Self {
        let mut sheet = SummaryBuilder::of_part("risk");
        let risk = risk_of_plan(plan).to_string();
        sheet.add(SummaryLineKind::Reach, |_| RiskDirection::Plain, "level", risk, false);
        Self { lines: sheet.lines() }
    }

    /// Adds the schedule on which a goal starts its plan, and the consequences.
    #[must_use]
    pub fn add_goal(mut self, goal: &Goal) -> Self {
        self.lines.splice(0..0, summary::of_goal(goal));
        self
    }

    /// The same, if there is a goal.
    #[must_use]
    pub fn add_goal_if_any(self, goal: Option<&Goal>) -> Self {
        match goal {
            Some(goal) => self.add_goal(goal),
            None => self,
        }
    }

    /// Adds the parameter values that are given. Those of defaults are shown anyway.
    #[must_use]
    pub fn add_params(mut self, params: &JsonObject) -> Self {
        let mut sheet = SummaryBuilder::default();
        for (name, value) in params {
            sheet.add(
                SummaryLineKind::Data,
                |_| RiskDirection::Plain,
                &format!("given.{name}"),
                value,
                false,
            );
        }
        self.lines.splice(0..0, sheet.lines());
        self
    }

    #[must_use]
    pub fn add_workspace_settings(mut self, settings: &WorkspaceSettings<'_>) -> Self {
        let WorkspaceSettings { is_sandboxed, readable_paths, env_passthrough, named } = settings;
        let confined = if *is_sandboxed {
            ("on", 0.0)
        } else {
            ("off: neither steps nor checks are confined, so no risk is below high", 1.0)
        };
        let mut sheet = SummaryBuilder::of_part("workspace");
        sheet.add(SummaryLineKind::Reach, RiskDirection::AtMost, "sandbox", confined, false);
        for (key, texts) in [("sandbox.read", readable_paths), ("env_pass", env_passthrough)] {
            sheet.add(SummaryLineKind::Reach, |_| RiskDirection::Grant, key, texts.to_vec(), false);
        }
        for (key, text) in named {
            sheet.add(SummaryLineKind::Reach, |_| RiskDirection::Plain, key, text.as_str(), false);
        }
        self.lines.extend(sheet.lines());
        self
    }

    /// The lines with invisible characters, or characters changing how others are displayed.
    pub fn invisible_lines(&self) -> impl Iterator<Item = &SummaryLine> {
        self.lines.iter().filter(|line| hides(&line.text) || hides(&line.key) || hides(&line.plan))
    }
}
