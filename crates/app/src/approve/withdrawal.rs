use super::{
    token::{read_token, use_count},
    token_path,
};
use crate::{CommandError, Workspace};
use wf_base::{name::PlanId, time::Moment};
use wf_core::goal::{ApprovalTerm, withdrawn_at};
use wf_sign::approval::{ApprovalRefusal, ApprovalScope, ApprovalStatement, ApprovalToken, SKEW};
use wf_store::{StoreReader, allow_no_state};

/// The standing approval beside a goal.
#[derive(Debug)]
pub struct StandingApproval {
    /// The signed statement. Its signatures were not verified.
    pub statement: ApprovalStatement,
    /// The number of times it was used.
    pub used: u32,
    pub withdrawn: Option<Moment>,
}

impl StandingApproval {
    pub fn term(&self) -> ApprovalTerm {
        let ApprovalStatement { issued, expires, executions, .. } = self.statement;
        ApprovalTerm { issued, expires, executions }
    }

    /// Returns the reason to give another one, if it has ended, or ends soon.
    pub fn shortcoming(&self, now: Moment) -> Option<String> {
        let ended = match self.state(now) {
            "holds" => return self.term().warning(now, self.used),
            "withdrawn" => "was withdrawn",
            "expired" => "has expired",
            _ => "is used up",
        };
        Some(format!("its standing approval {ended}: nothing runs under it"))
    }

    /// Returns its state, in a word.
    pub fn state(&self, now: Moment) -> &'static str {
        if self.withdrawn.is_some() {
            "withdrawn"
        } else if now >= self.statement.expires {
            "expired"
        } else if self.used >= self.statement.executions {
            "used up"
        } else {
            "holds"
        }
    }
}

/// Returns the standing approval beside a goal, as far as it can be read; a refusal if there is none.
pub fn standing_approval(
    workspace: &Workspace,
    goal: &PlanId,
    path: &str,
    now: Moment,
) -> Result<Result<StandingApproval, ApprovalRefusal>, CommandError> {
    let stored = read_token(workspace, &token_path(&workspace.root.join(path)));
    let token = match stored.and_then(is_goal_approval) {
        Ok(token) => token,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let statement = token.statement().clone();
    Ok(Ok(StandingApproval {
        used: use_count(workspace, &token)?,
        withdrawn: withdrawal_time(workspace, goal, &statement, now)?,
        statement,
    }))
}

fn is_goal_approval(token: ApprovalToken) -> Result<ApprovalToken, ApprovalRefusal> {
    match token.statement().scope {
        ApprovalScope::Standing => Ok(token),
        approved => Err(ApprovalRefusal::OtherScope { approved, scope: ApprovalScope::Standing }),
    }
}

/// Returns the time at which a standing approval of a goal was withdrawn, if it was.
pub fn withdrawal_time(
    workspace: &Workspace,
    goal: &PlanId,
    statement: &ApprovalStatement,
    now: Moment,
) -> Result<Option<Moment>, CommandError> {
    let reader = allow_no_state(StoreReader::from_log(&workspace.state))?;
    let withdrawals = reader.map_or_else(|| Ok(Vec::new()), |reader| reader.approvals().withdrawals(goal))?;
    Ok(withdrawn_at(&withdrawals, statement.nonce.as_str(), statement.issued, now, SKEW))
}
