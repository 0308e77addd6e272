use super::check::{check_files, check_plan, signers};
use super::{ApprovalDecision, ApprovalRefusal, ApprovalScope, ApprovalToken, Approvers, ReviewPolicy};
use wf_base::digest::Sha256Digest;
use wf_base::name::PlanId;
use wf_core::machine::PinnedFile;

/// The content of a goal, as the user sees it when accepting it.
#[derive(Clone, Copy, Debug)]
pub struct GoalContent<'a> {
    pub goal: &'a PlanId,
    /// The goal's file, relative to the workspace.
    pub path: &'a str,
    /// The texts the goal is made of and the programs it names, sorted by path.
    pub files: &'a [PinnedFile],
    /// The path of the workspace configuration, even if the file does not exist.
    pub config: &'a str,
    /// The digest of the settings in it the goal depends on.
    pub settings: Sha256Digest,
}

/// Checks that the signer of a token saw a goal in its present form: its texts and programs, and the settings it depends on,
/// by which the configuration may differ in all else. Its validity and number of repairs do not matter here, so a standing
/// approval counts even if it is expired, used up or withdrawn.
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
            let scope = ApprovalScope::GoalAccept;
            return Err(ApprovalRefusal::OtherScope { approved, scope });
        }
    };
    check_plan(statement, content.goal, content.path)?;
    if statement.settings != Some(content.settings) {
        return check_files(&files, content.files);
    }
    let without_config = |files: &[PinnedFile]| -> Vec<PinnedFile> {
        files.iter().filter(|pin| pin.path != content.config).cloned().collect()
    };
    check_files(&without_config(&files), &without_config(content.files))
}
