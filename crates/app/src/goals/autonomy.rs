use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Caller, CommandError, Workspace,
    approve::{SigningRules, StandingApproval, standing_approval},
    relative_path,
    specs::load::LoadedPlan,
};
use wf_base::{name::RunId, remedy::UserAction, time::format_duration};
use wf_core::{
    goal::{
        AutonomyProposal, OpinionCounts, RepairSample, StandingApprovalLimits, advise, count_samples,
        most_samples, narrow,
    },
    machine::RunOutcome,
};
use wf_model::{AutonomyThresholds, Goal, GoalApproval};
use wf_sign::approval::{ApprovalRefusal, ApprovalStatement, ApprovalToken, ReviewPolicy};
use wf_store::{RunState, StoreReader, allow_no_state};

/// The autonomy of a goal, the feedback on its repairs, and the resulting advice.
#[derive(Debug)]
pub struct AutonomyStatus {
    pub goal: Arc<Goal>,
    /// Its file, as seen from the current folder.
    pub shown_path: String,
    /// The approval beside it; `None`: its repairs need none.
    pub approval: Option<Result<StandingApproval, ApprovalRefusal>>,
    /// The thresholds of the advice, `longest` no longer than the approvers may sign.
    pub thresholds: AutonomyThresholds,
    /// The feedback on repairs under an approval like this.
    pub counts: OpinionCounts,
    pub advice: Option<AutonomyProposal>,
}

pub fn grant_of(statement: &ApprovalStatement) -> StandingApprovalLimits {
    StandingApprovalLimits {
        executions: statement.executions,
        validity: statement.expires.since(statement.issued),
    }
}

impl AutonomyStatus {
    /// Reads the autonomy of a goal, with the state as the log tells it. Nothing is recorded.
    pub fn read(caller: &dyn Caller, loaded: &LoadedPlan, goal: &Arc<Goal>) -> Result<Self, CommandError> {
        Self::of(caller, loaded, goal, verified_reader(&caller.host().workspace())?.as_ref())
    }

    /// Does the same with an open state.
    pub(crate) fn of(
        caller: &dyn Caller,
        loaded: &LoadedPlan,
        goal: &Arc<Goal>,
        reader: Option<&StoreReader>,
    ) -> Result<Self, CommandError> {
        let workspace = &loaded.workspace;
        let now = caller.host().now();
        let approvers = SigningRules::of(caller, workspace)?.approvers;
        let is_free = goal.approval == GoalApproval::None && approvers.policy == ReviewPolicy::Owner;
        let approval =
            if is_free { None } else { Some(standing_approval(workspace, &goal.id, &loaded.path, now)?) };
        let mut thresholds = loaded.config.autonomy;
        thresholds.longest = thresholds.longest.min(approvers.validity);
        let valid = approval.as_ref().and_then(|checked| checked.as_ref().ok());
        let held_limits = valid.map(|standing| grant_of(&standing.statement));
        let samples = reader.map_or(Ok(Vec::new()), |reader| feedback_samples(reader, goal, &thresholds))?;
        // Without an approval, the grant of the latest repair is used.
        let of = held_limits.or_else(|| samples.first().and_then(|sample| sample.limits));
        let counts = count_samples(samples, of, &thresholds, now);
        Ok(Self {
            goal: Arc::clone(goal),
            shown_path: relative_path(&workspace.root.join(&loaded.path), caller.host().cwd()),
            advice: held_limits.and_then(|limits| advise(&counts, limits, &thresholds)),
            approval,
            thresholds,
            counts,
        })
    }

    /// The approval that is or was usable, if there is one.
    pub fn standing(&self) -> Option<&StandingApproval> {
        self.approval.as_ref().and_then(|checked| checked.as_ref().ok())
    }

    /// Returns the act signing an approval for another grant.
    pub fn approval_of(&self, limits: StandingApprovalLimits) -> UserAction {
        let (file, executions) = (quoted_word(&self.shown_path), limits.executions);
        UserAction::ApproveRepairs { file, executions, validity: format_duration(limits.validity) }
    }

    /// Returns it as a document.
    pub fn json(&self, caller: &dyn Caller) -> Value {
        let now = caller.host().now();
        let counts = &self.counts;
        let approval = self.approval.as_ref().map(|checked| match checked {
            Err(refusal) => json!({"state": "none", "reason": refusal.to_string()}),
            Ok(standing) => json!({
                "state": standing.state(now),
                "executions": standing.statement.executions,
                "used": standing.used,
                "validity": format_duration(grant_of(&standing.statement).validity),
                "issued": standing.statement.issued,
                "expires": standing.statement.expires,
                "withdrawn": standing.withdrawn,
            }),
        });
        json!({
            "id": self.goal.id,
            "path": self.shown_path,
            "approval": approval,
            "repairs": counts.repairs,
            "corrected": counts.corrected,
            "declined": counts.declined,
            "undone": counts.undone,
            "rate": counts.rate(),
            "from": counts.period.map(|(first, _)| first),
            "to": counts.period.map(|(_, last)| last),
            "proposal": self.advice.as_ref().map(|advice| self.advice_json(caller, advice)),
        })
    }

    fn advice_json(&self, caller: &dyn Caller, advice: &AutonomyProposal) -> Value {
        let grant = |grant: StandingApprovalLimits| {
            let validity = format_duration(grant.validity);
            json!({"executions": grant.executions, "validity": validity})
        };
        json!({
            "way": advice.direction.as_str(),
            "from": grant(advice.old_limits),
            "to": grant(advice.new_limits),
            "reason": advice.reason,
            "command": caller.action_words(&self.approval_of(advice.new_limits)),
        })
    }

    /// Returns the act signing an approval for a narrower grant.
    pub fn narrower_approval(&self) -> Option<UserAction> {
        let limits = grant_of(&self.standing()?.statement);
        Some(self.approval_of(narrow(limits, &self.thresholds)))
    }
}

/// Opens the state of a workspace for a decision: what is read of runs is built from the log. `None` if there is none.
pub(crate) fn verified_reader(workspace: &Workspace) -> Result<Option<StoreReader>, CommandError> {
    Ok(allow_no_state(StoreReader::from_log(&workspace.state))?)
}

/// The feedback on the latest repairs, newest first, as many as can count. A repair that waits or
/// was cancelled counts once it has feedback.
fn feedback_samples(
    reader: &StoreReader,
    goal: &Goal,
    thresholds: &AutonomyThresholds,
) -> Result<Vec<RepairSample>, CommandError> {
    let most = usize::try_from(most_samples(thresholds)).unwrap_or(usize::MAX);
    let mut samples = Vec::new();
    for repair in reader.reconciliations().repairs(&goal.id, usize::MAX)? {
        let opinion = repair.opinion();
        let is_done = match repair.state {
            RunState::Running | RunState::Ended(RunOutcome::Cancelled) => false,
            RunState::Ended(_) => true,
        };
        if is_done || opinion.is_some() {
            samples.push(RepairSample {
                at: repair.at,
                limits: grant_of_repair(reader, &repair.run)?,
                opinion,
            });
        }
        if samples.len() >= most {
            break;
        }
    }
    Ok(samples)
}

/// The grant of the standing approval a repair was started under; `None` if there was none.
fn grant_of_repair(
    reader: &StoreReader,
    run: &RunId,
) -> Result<Option<StandingApprovalLimits>, CommandError> {
    let sources = reader.sources().of_run(run)?.into_iter();
    let mut tokens = sources.filter(|(path, _)| path.ends_with(".approval.json"));
    let token = tokens.find_map(|(_, text)| ApprovalToken::parse(&text).ok());
    let statement = token.as_ref().map(ApprovalToken::statement);
    let standing = statement.filter(|statement| statement.run.is_none());
    Ok(standing.map(grant_of))
}

/// A word quoted for a shell.
fn quoted_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    if text.chars().all(is_plain) && !text.starts_with('-') {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted_word;

    #[test]
    fn what_a_shell_would_split_is_quoted() {
        for (text, expected) in [
            ("goals/a-b_1.md", "goals/a-b_1.md"),
            ("goals/my site.md", "'goals/my site.md'"),
            ("it's.md", "'it'\\''s.md'"),
            ("-x.md", "'-x.md'"),
        ] {
            assert_eq!(quoted_word(text), expected);
        }
    }
}
