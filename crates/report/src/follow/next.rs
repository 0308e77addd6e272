use crate::lines::goal_name;
use wf_core::{
    machine::{ApprovalPolicy, EventKind},
    observe::RunRef,
};

/// The options for resuming a run that did not succeed.
#[derive(Clone, Debug, Default)]
pub struct ResumeOptions {
    path: String,
    is_goal: bool,
    /// True if its reviewed approval allows no further run.
    used_up: bool,
    /// The options for the server where it ran; `None`: here.
    server: Option<String>,
}

impl ResumeOptions {
    /// The options after a run of a plan at this path, or of a part of a reconciliation of a goal.
    pub fn from_path(path: &str, is_goal: bool) -> Self {
        Self { path: path.to_owned(), is_goal, ..Self::default() }
    }

    /// The options after a run of a plan at a server.
    pub fn at_server(path: &str, options: &str) -> Self {
        Self { path: path.to_owned(), server: Some(options.to_owned()), ..Self::default() }
    }

    /// Records the approval with which the run started.
    pub(super) fn record_approval(&mut self, kind: &EventKind) {
        if let EventKind::RunApproved(approved) = kind {
            let reviewed = approved.policy == ApprovalPolicy::Reviewed;
            self.used_up = reviewed && approved.execution >= approved.executions;
        }
    }

    /// Returns the commands to resume: a reconciliation of a goal is not repeated in part, and a
    /// used-up approval allows no other run.
    pub(super) fn commands(&self, run: &RunRef) -> String {
        let retry = self.command(&format!("retry {}", run.id.short()));
        if self.server.is_some() {
            return retry;
        }
        if self.is_goal {
            format!("wf goal run {}", goal_name(run.plan.as_str(), &self.path))
        } else if self.used_up {
            format!("wf approve {}, then {retry}", self.path)
        } else {
            retry
        }
    }

    /// Returns the options for the server where it ran; `None`: here.
    pub(super) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Returns the command that shows the rounds of a run. A server shows them without being asked.
    pub(super) fn rounds_command(&self, run: &RunRef) -> String {
        let rounds = if self.server.is_some() { "" } else { " --rounds" };
        self.command(&format!("show {}{rounds}", run.id.short()))
    }

    /// Returns a command as it is typed here.
    fn command(&self, words: &str) -> String {
        let options = self.server.as_ref().map(|options| format!("{options} ")).unwrap_or_default();
        format!("wf {options}{words}")
    }

    /// Returns the options without those that would be refused, as they are typed here.
    pub(super) fn retain_possible(&self, mut moves: Vec<String>) -> Vec<String> {
        if let Some(options) = &self.server {
            let typed = |line: String| line.replace("`wf ", &format!("`wf {options} "));
            moves = moves.into_iter().map(typed).collect();
        }
        if self.is_goal {
            moves.retain(|line| !line.starts_with("`wf retry "));
        }
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::ResumeOptions;
    use wf_base::{
        digest::Sha256Digest,
        name::{PlanId, RunId},
        time::Moment,
    };
    use wf_core::{
        machine::{ApprovalPolicy, EventKind, RunApproval},
        observe::RunRef,
    };

    #[test]
    fn no_command_is_named_that_would_be_refused() {
        let run = RunRef {
            id: RunId::from_stored("1a2b3c4d5e6f708192a3b4c5d6e7f809"),
            plan: PlanId::parse("mirror").unwrap(),
            path: Vec::new(),
        };
        let approved = |policy, execution| {
            EventKind::RunApproved(Box::new(RunApproval {
                policy,
                token: Sha256Digest::of_bytes(b""),
                plan_digest: Sha256Digest::of_bytes(b""),
                by: Vec::new(),
                nonce: String::new(),
                execution,
                executions: 2,
                expires: Moment::default(),
                initiator: None,
                pinned_files: Vec::new(),
                products: Vec::new(),
                tree: None,
                skills: Vec::new(),
            }))
        };
        let after = |kind: Option<EventKind>, is_goal| {
            let mut next = ResumeOptions::from_path("plan.md", is_goal);
            if let Some(fact) = &kind {
                next.record_approval(fact);
            }
            next.commands(&run)
        };
        assert_eq!(after(None, false), "wf retry 1a2b3c4d");
        assert_eq!(after(None, true), "wf goal run plan.md");
        assert_eq!(after(Some(approved(ApprovalPolicy::Owner, 2)), false), "wf retry 1a2b3c4d");
        assert_eq!(after(Some(approved(ApprovalPolicy::Reviewed, 1)), false), "wf retry 1a2b3c4d");
        let both = "wf approve plan.md, then wf retry 1a2b3c4d";
        assert_eq!(after(Some(approved(ApprovalPolicy::Reviewed, 2)), false), both);
        let moves = vec!["try more".to_owned(), "`wf retry \0` keeps it".to_owned()];
        let possible = ResumeOptions::from_path("goal.md", true).retain_possible(moves);
        assert_eq!(possible, ["try more"]);
    }
}
