use serde::{Serialize, Serializer, ser::SerializeStruct};

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
    /// Values coming in and go out.
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

/// One action or bound of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryLine {
    /// The file of the plan it belongs to; empty: the plan that is asked about.
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
    /// Returns its path, unique in its summary, for example `steps.build.run` or
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
