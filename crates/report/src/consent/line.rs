use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::view::RecordView;
use super::{SummaryBuilder, plan};
use wf_base::untrusted::hides;
use wf_core::risk::risk_of_plan;
use wf_model::{Goal, JsonObject, Plan};

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryLineKind {
    /// The access granted: files, network, secrets, variables, the machine.
    Reach,
    /// The proof of success: checks and their expectations.
    Proof,
    /// The approvals and gates passed before it continues.
    Decision,
    /// The work that is executed.
    Work,
    /// The order, conditions and repetitions of the execution.
    Graph,
    /// The durations, retries and concurrency.
    Effort,
    /// Values that come in and go out.
    Data,
    /// Text for readers.
    About,
}

/// The direction of a change of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RiskDirection {
    /// Not known from the text alone.
    Plain,
    /// Its presence lets more happen, or more pass.
    Grant,
    /// Its presence lets less happen, or less pass.
    Guard,
    /// The larger the number, the more may happen, or pass.
    AtMost(f64),
    /// The larger the number, the less may happen, or pass.
    AtLeast(f64),
}

/// One thing that a plan will do, or that bounds what it does.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryLine {
    /// The file of the plan that it belongs to; empty: the plan that is asked about.
    pub plan: String,
    /// The part of the plan, for example `steps.build`; empty: the plan as a whole.
    pub part: String,
    /// The key, as the language writes it, for example `verify.is_json.expect.contains`.
    pub key: String,
    /// The subject.
    pub kind: SummaryLineKind,
    /// The statement: in full, as written.
    pub text: String,
    /// The direction of a change.
    pub risk: RiskDirection,
    /// True if it states a default.
    pub is_default: bool,
}

impl SummaryLine {
    /// Returns its path, unique in its [`PlanSummary`], for example `steps.build.run` or
    /// `parts.md: steps.one.run`.
    pub fn path(&self) -> String {
        let dot = if self.part.is_empty() { "" } else { "." };
        let plan = match self.plan.as_str() {
            "" => String::new(),
            path => format!("{path}: "),
        };
        format!("{plan}{}{dot}{}", self.part, self.key)
    }
}

impl Serialize for SummaryLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("Line", 3)?;
        line.serialize_field("path", &self.path())?;
        line.serialize_field("kind", &self.kind)?;
        line.serialize_field("text", &self.text)?;
        line.end()
    }
}

/// The settings of the workspace that apply to every plan.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceSettings<'a> {
    /// True if checks, and steps with `allow`, run in a sandbox.
    pub is_sandboxed: bool,
    /// The paths that every sandbox may read besides the workspace.
    pub readable_paths: &'a [String],
    /// Patterns of variables that every step sees.
    pub env_passthrough: &'a [String],
}

view! { house: WorkspaceSettings<'_> in Reach {
    most is_sandboxed as "sandbox" = if *is_sandboxed {
        ("on", 0.0)
    } else {
        ("off: neither steps nor checks are confined, so no risk is below high", 1.0)
    },
    grant readable_paths as "sandbox.read" = &readable_paths.to_vec(),
    grant env_passthrough as "env_pass" = &env_passthrough.to_vec(),
} }

/// Everything that a plan will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PlanSummary {
    /// One thing each: the plan, its steps in order, the plans that it uses.
    pub lines: Vec<SummaryLine>,
}

impl PlanSummary {
    /// Takes a plan apart, with everything that it uses. `path` is its file.
    pub fn of_plan(plan: &Plan, path: &str) -> Self {
        let mut sheet = SummaryBuilder::default();
        plan::plans(plan, path, &mut sheet);
        Self { lines: sheet.lines() }
    }

    /// Returns the risk of a plan with all that it uses. No plan declares it, so it is no part of what a plan says.
    pub(super) fn of_risk(plan: &Plan) -> Self {
        let mut sheet = SummaryBuilder::default();
        sheet.set_part("risk");
        lines!(sheet in Reach { plain "level" = risk_of_plan(plan).to_string() });
        Self { lines: sheet.lines() }
    }

    /// Adds the schedule on which a goal starts its plan, and the consequences.
    #[must_use]
    pub fn add_goal(mut self, goal: &Goal) -> Self {
        let mut sheet = SummaryBuilder::default();
        sheet.set_part("goal");
        goal.view(&mut sheet);
        self.lines.splice(0..0, sheet.lines());
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

    /// Adds the settings of the workspace.
    #[must_use]
    pub fn add_workspace_settings(mut self, house: &WorkspaceSettings<'_>) -> Self {
        let mut sheet = SummaryBuilder::default();
        sheet.set_part("workspace");
        house.view(&mut sheet);
        self.lines.extend(sheet.lines());
        self
    }

    /// The lines with invisible characters, or characters that change how others are displayed.
    pub fn invisible_lines(&self) -> impl Iterator<Item = &SummaryLine> {
        self.lines.iter().filter(|line| hides(&line.text) || hides(&line.key) || hides(&line.plan))
    }
}
