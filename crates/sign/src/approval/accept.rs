use super::check::{check_files, check_plan, signers};
use super::{ApprovalDecision, ApprovalRefusal, ApprovalScope, ApprovalToken, Approvers, ReviewPolicy};
use wf_base::name::PlanId;
use wf_core::machine::PinnedFile;

/// The content of a goal, as the user sees it when accepting it.
#[derive(Clone, Copy, Debug)]
pub struct GoalContent<'a> {
    /// The id of the goal.
    pub goal: &'a PlanId,
    /// The goal's file, relative to the workspace.
    pub path: &'a str,
    /// The texts that the goal is made of and the programs that it names, sorted by path.
    pub files: &'a [PinnedFile],
    /// The path of the workspace configuration, even if the file does not exist.
    pub config: &'a str,
}

/// Checks that the signer of a token saw a goal in its present form. Its validity and number of repairs do
/// not matter here, so a standing approval counts even if it is expired, used up or withdrawn.
pub fn accepts(
    token: &ApprovalToken,
    content: &GoalContent<'_>,
    approvers: &Approvers,
) -> Result<(), ApprovalRefusal> {
    let found = u32::try_from(signers(token, approvers)?.len()).unwrap_or(u32::MAX);
    let required = approvers.quorum();
    if found < required {
        return Err(ApprovalRefusal::TooFew { required, found });
    }
    let statement = token.statement();
    if statement.verdict == ApprovalDecision::Denied {
        return Err(ApprovalRefusal::Denied(statement.reason.clone()));
    }
    let files = match (statement.scope, approvers.policy) {
        (ApprovalScope::GoalAccept, ReviewPolicy::Owner) => statement.files.clone(),
        // It is bound to the whole workspace.
        (ApprovalScope::Standing, _) => {
            let named = |pin: &&PinnedFile| {
                pin.path == content.config || content.files.iter().any(|one| one.path == pin.path)
            };
            statement.files.iter().filter(named).cloned().collect()
        }
        (approved, _) => {
            let asked = ApprovalScope::GoalAccept;
            return Err(ApprovalRefusal::OtherScope { approved, asked });
        }
    };
    check_plan(statement, content.goal, content.path)?;
    check_files(&files, content.files)
}
