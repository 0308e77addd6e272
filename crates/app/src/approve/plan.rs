use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    SigningRules, acceptance_path,
    accepted::settings_digest,
    approved_tree,
    bounds::{ParamBounds, ParamBoundsRequest, param_bounds},
    review::{AskedTerms, TokenReview},
    reviewed_files,
    signing::{SigningOptions, approver_key, validity},
    spawned_goal, text_by_digest,
    token::{draft_statement, plan_ref},
    token_at,
};
use crate::{
    Caller, CommandError, keys,
    specs::load::{self, LoadedPlan},
};
use wf_base::time::Moment;
use wf_lang::InMemoryFiles;
use wf_model::{Goal, JsonObject, Plan};
use wf_sign::approval::{ApprovalScope, ApprovalStatement, ApprovedFileDifference, differences};

/// The default number of repairs the approval of a goal permits.
const DEFAULT_REPAIRS: u32 = 10;

/// The validity of an acceptance: practically until the goal changes.
const ACCEPTANCE_VALIDITY: Duration = Duration::from_hours(100 * 365 * 24);

/// The approval of a plan, as an approver asks for it.
pub struct PlanApprovalRequest<'a> {
    pub bounds: ParamBoundsRequest<'a>,
    /// The number of runs or repairs it permits, if not the usual one.
    pub executions: Option<u32>,
    /// The file of the approval, if not the one beside the plan.
    pub file: Option<&'a PathBuf>,
    /// The signature.
    pub signing: &'a SigningOptions,
}

/// A plan or goal before a person signs for it.
pub struct PlanReview {
    pub loaded: LoadedPlan,
    /// The known values of parameters.
    pub known_values: JsonObject,
    /// The approval.
    pub token: TokenReview,
}

/// The differences of a plan from the one the last approval is for.
pub struct PlanChanges {
    /// The time of the last approval.
    pub issued: Moment,
    pub files: Vec<ApprovedFileDifference>,
    /// The plan of then, and its goal, where their texts are known.
    pub old_plan: Option<(Arc<Plan>, Option<Arc<Goal>>)>,
}

impl PlanReview {
    /// Prepares the approval of the plan at a path. Silas 5.1.2.
    pub fn of_plan(
        caller: &dyn Caller,
        path: &Path,
        request: &PlanApprovalRequest<'_>,
    ) -> Result<Self, CommandError> {
        let loaded = load::load_for_review(caller, path)?;
        let mut rules = SigningRules::of(caller, &loaded.workspace)?;
        let key = approver_key(caller, &mut rules, request.signing)?;
        let PlanDraft { file, statement, known_values } = PlanDraft::of(caller, &loaded, &rules, request)?;
        let terms = AskedTerms { validity: request.signing.validity, executions: request.executions };
        let token = TokenReview::of_owner(&loaded.workspace, file, rules, statement);
        let token = token.for_approver(&loaded.workspace, key, terms)?;
        Ok(Self { loaded, known_values, token })
    }

    /// Prepares the same approval for a key signing it elsewhere.
    pub fn of_plan_elsewhere(
        caller: &dyn Caller,
        path: &Path,
        request: &PlanApprovalRequest<'_>,
    ) -> Result<Self, CommandError> {
        let loaded = load::load_for_review(caller, path)?;
        let rules = SigningRules::of(caller, &loaded.workspace)?;
        let PlanDraft { file, statement, known_values } = PlanDraft::of(caller, &loaded, &rules, request)?;
        let token = TokenReview::of_owner(&loaded.workspace, file, rules, statement);
        Ok(Self { loaded, known_values, token })
    }

    /// Prepares the acceptance of a goal by its owner.
    pub fn of_goal(
        caller: &dyn Caller,
        loaded: LoadedPlan,
        bounds: &ParamBoundsRequest<'_>,
    ) -> Result<Self, CommandError> {
        // A key that is forgotten afterwards would accept nothing.
        keys::key_folder(caller.host())?;
        let known_values = param_bounds(loaded.plan.parts(), true, bounds)?.known_values;
        let files = reviewed_files(caller.host(), &loaded)?;
        let rules = SigningRules::of(caller, &loaded.workspace)?;
        let plan = plan_ref(&loaded, &files);
        let (path, purpose) =
            (acceptance_path(&loaded.workspace, &plan.id), format!("nonce of the acceptance of {}", plan.id));
        let draft =
            draft_statement(caller.host(), &purpose, ApprovalScope::GoalAccept, plan, ACCEPTANCE_VALIDITY)?;
        let settings = Some(settings_digest(&loaded));
        let statement = ApprovalStatement { files, settings, ..draft };
        let token = TokenReview::of_owner(&loaded.workspace, path, rules, statement);
        Ok(Self { loaded, known_values, token })
    }

    /// Returns the changes since the last approval, if there is one.
    pub fn changes(&self, caller: &dyn Caller) -> Option<PlanChanges> {
        let (loaded, last) = (&self.loaded, self.token.last.as_ref()?.statement());
        let files = differences(&last.files, &self.token.statement.files);
        let texts: BTreeMap<String, Vec<u8>> = last
            .files
            .iter()
            .filter(|pin| is_text(loaded, &pin.path))
            .filter_map(|pin| {
                let old_text = text_by_digest(caller.host(), &loaded.workspace, &pin.path, pin.digest)?;
                Some((pin.path.clone(), old_text.into_bytes()))
            })
            .collect();
        let before = load::collect_plan_and_goal(&InMemoryFiles(texts), &loaded.path, loaded.options);
        Some(PlanChanges { issued: last.issued, files, old_plan: before })
    }
}

/// The statement about a plan, and the file for its signatures.
struct PlanDraft {
    file: PathBuf,
    statement: ApprovalStatement,
    known_values: JsonObject,
}

impl PlanDraft {
    fn of(
        caller: &dyn Caller,
        loaded: &LoadedPlan,
        rules: &SigningRules,
        request: &PlanApprovalRequest<'_>,
    ) -> Result<Self, CommandError> {
        let ParamBounds { bounds, known_values } =
            param_bounds(loaded.plan.parts(), loaded.goal.is_some(), &request.bounds)?;
        let file = token_at(caller.host(), loaded, request.file);
        let files = approved_tree(caller.host(), loaded, &known_values, &file)?.files;
        let (scope, executions) = match loaded.goal {
            Some(_) => (ApprovalScope::Standing, DEFAULT_REPAIRS),
            None => (ApprovalScope::FullPlan, 1),
        };
        let plan = plan_ref(loaded, &files);
        let until = validity(rules, request.signing)?;
        let draft = draft_statement(caller.host(), "nonce of an approval", scope, plan, until)?;
        let statement = ApprovalStatement {
            spawn_policy: spawned_goal(loaded, &files).map(|spawned| spawned.policy),
            files,
            params: bounds,
            executions: request.executions.unwrap_or(executions),
            settings: loaded.goal.as_ref().map(|_| settings_digest(loaded)),
            ..draft
        };
        Ok(Self { file, statement, known_values })
    }
}

/// True if a file may be a source of the plan: its earlier version is looked up.
fn is_text(loaded: &LoadedPlan, path: &str) -> bool {
    let mut sources = loaded.sources.iter();
    path.starts_with("gates/") || sources.any(|(source, _)| source == path)
}
