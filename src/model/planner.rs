use std::time::Duration;

/// A program that is asked for another way where a plan has no other left (artoo v0.8, R2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planner {
    /// The program and its arguments, as they stand.
    pub exec: Vec<String>,
    /// The longest it may take.
    pub timeout: Duration,
}

/// What follows where another round is ordered and no other declared way is left (Silas 19.5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStuck {
    /// The run ends.
    #[default]
    Abandon,
    /// The planner is asked for a way.
    ConsultPlanner,
}

impl OnStuck {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abandon => "abandon",
            Self::ConsultPlanner => "consult_planner",
        }
    }
}
