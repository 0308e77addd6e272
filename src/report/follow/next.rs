use crate::engine::RunRef;
use crate::machine::{ApprovalPolicy, Fact};
use crate::report::lines::goal_name;

/// What is known of how one goes on with a run that did not succeed.
#[derive(Clone, Debug, Default)]
pub struct Next {
    path: String,
    is_goal: bool,
    /// Whether others approved it, for no further run.
    used_up: bool,
}

impl Next {
    /// After a run of a plan at this path, or of a part of a cycle of a goal.
    pub fn of(path: &str, is_goal: bool) -> Self {
        Self {
            path: path.to_owned(),
            is_goal,
            used_up: false,
        }
    }

    /// Takes in by whose word the run began.
    pub(super) fn take(&mut self, fact: &Fact) {
        if let Fact::RunApproved(approved) = fact {
            let reviewed = approved.policy == ApprovalPolicy::Reviewed;
            self.used_up = reviewed && approved.execution >= approved.executions;
        }
    }

    /// The commands that go on: a cycle of a goal is not repeated in part, and an approval that is
    /// used up lets no other run begin.
    pub(super) fn commands(&self, run: &RunRef) -> String {
        let retry = format!("wf retry {}", run.id.short());
        if self.is_goal {
            format!("wf goal run {}", goal_name(run.plan.as_str(), &self.path))
        } else if self.used_up {
            format!("wf approve {}, then {retry}", self.path)
        } else {
            retry
        }
    }

    /// What can be done, without what would be refused.
    pub(super) fn possible(&self, mut moves: Vec<String>) -> Vec<String> {
        if self.is_goal {
            moves.retain(|one| !one.starts_with("`wf retry "));
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::Next;
    use crate::digest::Digest;
    use crate::engine::RunRef;
    use crate::machine::{ApprovalPolicy, Approved, Fact};
    use crate::name::{PlanId, RunId};
    use crate::time::Moment;

    #[test]
    fn no_command_is_named_that_would_be_refused() {
        let run = RunRef {
            id: RunId::from_stored("1a2b3c4d5e6f708192a3b4c5d6e7f809"),
            plan: PlanId::parse("mirror").unwrap(),
            path: Vec::new(),
        };
        let approved = |policy, execution| {
            Fact::RunApproved(Box::new(Approved {
                policy,
                token: Digest::of(b""),
                plan: Digest::of(b""),
                by: Vec::new(),
                nonce: String::new(),
                execution,
                executions: 2,
                expires: Moment::default(),
                initiator: None,
                pins: Vec::new(),
                products: Vec::new(),
                tree: None,
                skills: Vec::new(),
            }))
        };
        let after = |fact: Option<Fact>, is_goal| {
            let mut next = Next::of("plan.md", is_goal);
            if let Some(fact) = &fact {
                next.take(fact);
            }
            next.commands(&run)
        };
        assert_eq!(after(None, false), "wf retry 1a2b3c4d");
        assert_eq!(after(None, true), "wf goal run plan.md");
        assert_eq!(
            after(Some(approved(ApprovalPolicy::Owner, 2)), false),
            "wf retry 1a2b3c4d"
        );
        assert_eq!(
            after(Some(approved(ApprovalPolicy::Reviewed, 1)), false),
            "wf retry 1a2b3c4d"
        );
        let both = "wf approve plan.md, then wf retry 1a2b3c4d";
        assert_eq!(
            after(Some(approved(ApprovalPolicy::Reviewed, 2)), false),
            both
        );
        let moves = vec!["try more".to_owned(), "`wf retry \0` keeps it".to_owned()];
        let possible = Next::of("goal.md", true).possible(moves);
        assert_eq!(possible, ["try more"]);
    }
}
