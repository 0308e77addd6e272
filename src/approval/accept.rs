use super::check::signers;
use super::{Approvers, Policy, Refusal, Scope, Token, Verdict, differences};
use crate::machine::Pin;
use crate::name::PlanId;

/// A goal as it is: what a person sees who accepts it.
#[derive(Clone, Copy, Debug)]
pub struct GoalContent<'a> {
    /// The goal.
    pub goal: &'a PlanId,
    /// Its file, relative to the workspace.
    pub path: &'a str,
    /// The texts that it is made of and the programs that it names, sorted by path.
    pub files: &'a [Pin],
    /// The path of the configuration of the workspace, also where there is none.
    pub config: &'a str,
}

/// Checks that whoever signed a token saw a goal as it is. How long and how often it may repair says
/// nothing about that, so a standing approval counts which has expired, is used up or was
/// withdrawn.
pub fn accepts(
    token: &Token,
    content: &GoalContent<'_>,
    approvers: &Approvers,
) -> Result<(), Refusal> {
    let found = u32::try_from(signers(token, approvers)?.len()).unwrap_or(u32::MAX);
    let required = match approvers.policy {
        // Who sees a goal is who owns it.
        Policy::Owner => 1,
        Policy::Reviewed => approvers.required.max(1),
    };
    if found < required {
        return Err(Refusal::TooFew { required, found });
    }
    let statement = token.statement();
    if statement.verdict == Verdict::Denied {
        return Err(Refusal::Denied(statement.reason.clone()));
    }
    let files = match (statement.scope, approvers.policy) {
        (Scope::GoalAccept, Policy::Owner) => statement.files.clone(),
        // It is bound to the whole workspace.
        (Scope::Standing, _) => {
            let named = |pin: &&Pin| {
                pin.path == content.config || content.files.iter().any(|one| one.path == pin.path)
            };
            statement.files.iter().filter(named).cloned().collect()
        }
        (approved, _) => {
            let asked = Scope::GoalAccept;
            return Err(Refusal::OtherScope { approved, asked });
        }
    };
    let plan = &statement.plan;
    if plan.path != content.path || plan.id != *content.goal {
        return Err(Refusal::OtherPlan {
            approved: format!("`{}` in {}", plan.id, plan.path),
            asked: format!("`{}` in {}", content.goal, content.path),
        });
    }
    let changed = differences(&files, content.files);
    if changed.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Changed(changed))
    }
}
