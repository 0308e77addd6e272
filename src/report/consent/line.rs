use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{Sheet, plan};
use crate::model::{Goal, Object, Plan};
use crate::untrusted::hides;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What it may reach: files, network, secrets, variables, the machine.
    Reach,
    /// How it is known to have worked: checks and what they expect.
    Proof,
    /// Who or what is asked before it goes on.
    Decision,
    /// What is executed.
    Work,
    /// When and how often it is executed.
    Graph,
    /// How long, how often again, and how much at once.
    Effort,
    /// Values that come in and go out.
    Data,
    /// Words for people.
    About,
}

/// In which direction a change of a line goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sense {
    /// Nobody can say from the text.
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
pub struct Line {
    /// The file of the plan that it belongs to; empty: the plan that is asked about.
    pub plan: String,
    /// The part of the plan, for example `steps.build`; empty: the plan as a whole.
    pub within: String,
    /// The key, as the language writes it, for example `verify.is_json.expect.contains`.
    pub key: String,
    /// What it is about.
    pub kind: Kind,
    /// What it says: in full, as it was written.
    pub text: String,
    /// In which direction a change goes.
    pub sense: Sense,
    /// Whether it says what holds where nothing is said.
    pub usual: bool,
}

impl Line {
    /// Where it stands: unique in its [`Consent`], for example `steps.build.run` or
    /// `parts.md: steps.one.run`.
    pub fn path(&self) -> String {
        let dot = if self.within.is_empty() { "" } else { "." };
        let plan = match self.plan.as_str() {
            "" => String::new(),
            path => format!("{path}: "),
        };
        format!("{plan}{}{dot}{}", self.within, self.key)
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_struct("Line", 3)?;
        line.serialize_field("path", &self.path())?;
        line.serialize_field("kind", &self.kind)?;
        line.serialize_field("text", &self.text)?;
        line.end()
    }
}

/// What holds in the workspace for every plan.
#[derive(Clone, Copy, Debug)]
pub struct House<'a> {
    /// Whether checks, and steps with `allow`, run in a sandbox.
    pub confined: bool,
    /// What every sandbox may read besides the workspace.
    pub read: &'a [String],
    /// Patterns of variables that every step sees.
    pub pass: &'a [String],
}

/// Everything that a plan will do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Consent {
    /// One thing each: the plan, its steps in order, the plans that it uses.
    pub lines: Vec<Line>,
}

impl Consent {
    /// Takes a plan apart, with all that it uses. `path` is its file.
    pub fn of(plan: &Plan, path: &str) -> Self {
        let mut sheet = Sheet::default();
        plan::plans(plan, path, &mut sheet);
        Self {
            lines: sheet.lines(),
        }
    }

    /// Adds when a goal begins its plan by itself, and what follows.
    #[must_use]
    pub fn of_goal(mut self, goal: &Goal) -> Self {
        let mut sheet = Sheet::default();
        sheet.inside("goal");
        super::goal::goal(goal, &mut sheet);
        self.lines.splice(0..0, sheet.lines());
        self
    }

    /// The same, if there is a goal.
    #[must_use]
    pub fn of_any(self, goal: Option<&Goal>) -> Self {
        match goal {
            Some(goal) => self.of_goal(goal),
            None => self,
        }
    }

    /// Adds the values that parameters are given. Those of defaults are shown anyway.
    #[must_use]
    pub fn given(mut self, params: &Object) -> Self {
        let mut sheet = Sheet::default();
        for (name, value) in params {
            let text = super::exact::json(value);
            sheet.put(Kind::Data, Sense::Plain, &format!("given.{name}"), text);
        }
        self.lines.splice(0..0, sheet.lines());
        self
    }

    /// Adds what holds in the workspace.
    #[must_use]
    pub fn within(mut self, house: &House<'_>) -> Self {
        let House {
            confined,
            read,
            pass,
        } = house;
        let mut sheet = Sheet::default();
        sheet.inside("workspace");
        let (text, level) = if *confined {
            ("on", 0.0)
        } else {
            ("off: nothing is confined, checks neither", 1.0)
        };
        sheet.put(Kind::Reach, Sense::AtMost(level), "sandbox", text);
        sheet.each(Kind::Reach, Sense::Grant, "sandbox.read", read);
        sheet.each(Kind::Reach, Sense::Grant, "env_pass", pass);
        self.lines.extend(sheet.lines());
        self
    }

    /// The lines with characters that do not show, or that change how others show.
    pub fn hidden(&self) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .filter(|line| hides(&line.text) || hides(&line.key) || hides(&line.plan))
    }
}
