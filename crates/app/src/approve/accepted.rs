use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    SigningRules,
    pins::{pin, with_texts},
    token::read_token,
    token_path,
};
use crate::{
    CONFIG, Caller, CliExitCode, CommandError, Host, Workspace,
    config::bound_settings,
    revision::tracked_files,
    specs::load::{self, GoalPlan, LoadedPlan},
};
use wf_base::{digest::Sha256Digest, keyword::Keyword, name::PlanId, remedy::UserAction};
use wf_core::machine::PinnedFile;
use wf_exec::{WorkError, pinned, view::is_program};
use wf_model::{GoalParam, JsonObject, NotificationDelivery, resolve_params};
use wf_sign::{
    approval::{ApprovalRefusal, ApprovalScope, ApprovalStatement, GoalContent, ReviewPolicy, accepts},
    canonical,
};
use wf_store::ACCEPTANCE_SUFFIX;

pub fn acceptance_path(workspace: &Workspace, goal: &PlanId) -> PathBuf {
    let folder = workspace.state.join("goals");
    folder.join(format!("{goal}{ACCEPTANCE_SUFFIX}"))
}

/// Returns the digest of the settings the runs of a goal depend on, those of its repairs included.
pub(super) fn settings_digest(loaded: &LoadedPlan) -> Sha256Digest {
    Sha256Digest::of_bytes(canonical(&bound_config(loaded)).as_bytes())
}

/// Returns the configuration to compare an approval with, in place of the present one: a standing approval binds the
/// settings of its goal's runs alone. Where they are the same, the approved file stands for the present one.
pub(super) fn approved_config<'s>(
    file: Option<&'s PinnedFile>,
    loaded: &LoadedPlan,
    statement: &'s ApprovalStatement,
) -> Option<&'s PinnedFile> {
    let is_bound_to_settings = statement.scope == ApprovalScope::Standing
        && statement.settings.is_some_and(|settings| settings == settings_digest(loaded));
    if is_bound_to_settings { config_of(&statement.files) } else { file }
}

/// Returns the configuration among files, if there is one.
pub(super) fn config_of(files: &[PinnedFile]) -> Option<&PinnedFile> {
    files.iter().find(|pin| pin.path == CONFIG)
}

/// Returns files, sorted by path, with another configuration.
pub(super) fn with_config(files: &[PinnedFile], config: Option<&PinnedFile>) -> Vec<PinnedFile> {
    let others = files.iter().filter(|pin| pin.path != CONFIG);
    let mut files: Vec<PinnedFile> = others.chain(config).cloned().collect();
    files.sort();
    files
}

/// Returns the part of the configuration behind the runs of a plan, or of all of a goal.
pub(super) fn bound_config(loaded: &LoadedPlan) -> Value {
    let config = loaded.sources.iter().find(|(path, _)| path == CONFIG).map_or("", |(_, text)| text.as_str());
    let plan = loaded.goal.as_ref().map_or(&loaded.plan, |goal_plan| &goal_plan.whole_plan);
    bound_settings(config, plan, loaded.goal.as_ref().map(|goal_plan| &*goal_plan.goal))
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Returns the content of a goal an acceptance is compared with.
pub fn goal_content<'r>(
    loaded: &'r LoadedPlan,
    files: &'r [PinnedFile],
) -> Result<GoalContent<'r>, CommandError> {
    let goal = &goal_of(loaded)?.goal.id;
    Ok(GoalContent { goal, path: &loaded.path, files, config: CONFIG, settings: settings_digest(loaded) })
}

/// Checks that an approver accepted a goal as it is now: with `wf goal accept`, or by signing the
/// approval of its repairs.
pub fn check_accepted(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
) -> Result<Result<(), ApprovalRefusal>, CommandError> {
    let goal_plan = goal_of(loaded)?;
    let approvers = SigningRules::of(caller, &loaded.workspace)?.approvers;
    let files = reviewed_files(caller.host(), loaded)?;
    let content = goal_content(loaded, &files)?;
    let by_token = |path: &Path| {
        let token = read_token(&loaded.workspace, path)?;
        accepts(&token, &content, &approvers)
    };
    let approval = token_path(&loaded.workspace.root.join(&loaded.path));
    let approved = by_token(&approval);
    if approved.is_ok() || approvers.policy == ReviewPolicy::Reviewed {
        return Ok(approved);
    }
    let accepted = by_token(&acceptance_path(&loaded.workspace, &goal_plan.goal.id));
    Ok(match accepted {
        Err(ApprovalRefusal::Missing(_)) => approved,
        accepted => accepted,
    })
}

/// Checks that the programs of a goal are the accepted ones, where its texts are those a reconciliation
/// started with. No acceptance is needed for a run by hand, or for a branch.
pub fn check_programs_accepted(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
) -> Result<Result<(), ApprovalRefusal>, CommandError> {
    let policy = SigningRules::of(caller, &loaded.workspace)?.approvers.policy;
    Ok(match check_accepted(caller, loaded)? {
        Err(ApprovalRefusal::Missing(_)) if policy == ReviewPolicy::Owner => Ok(()),
        Err(ApprovalRefusal::Changed(mut files)) => {
            let is_text = |path: &str| loaded.sources.iter().any(|(source, _)| source == path);
            files.retain(|file| !is_text(&file.path));
            if files.is_empty() { Ok(()) } else { Err(ApprovalRefusal::Changed(files)) }
        }
        seen => seen,
    })
}

/// The acceptance a goal waits for; `None`: it waits for nothing, or, where other approvers
/// must sign, for them.
pub fn awaited_acceptance(caller: &dyn Caller, loaded: &LoadedPlan) -> Result<Option<String>, CommandError> {
    if SigningRules::of(caller, &loaded.workspace)?.approvers.policy == ReviewPolicy::Reviewed {
        return Ok(None);
    }
    let id = &goal_of(loaded)?.goal.id;
    Ok(check_accepted(caller, loaded)?.err().map(|refusal| {
        let reason = match refusal {
            ApprovalRefusal::Missing(_) => "it is new".to_owned(),
            ApprovalRefusal::Changed(files) => {
                let first = files.first().map(ToString::to_string).unwrap_or_default();
                match files.len() {
                    1 => first,
                    more => format!("{first}, and {} more", more - 1),
                }
            }
            other => other.to_string(),
        };
        let accept = caller.action_words(&UserAction::AcceptGoal(id.clone()));
        format!("must be accepted with `{accept}`: {reason}")
    }))
}

/// The same for the goal at a path, as in [`awaited_acceptance`]. Unreadable files are reported elsewhere.
pub fn awaited_acceptance_at(
    caller: &dyn Caller,
    workspace: &Workspace,
    path: &str,
) -> Result<Option<String>, CommandError> {
    let loaded = load::reload_goal(caller, workspace.clone(), path)?;
    awaited_acceptance(caller, &loaded)
}

/// The reviewed files of an accepted goal: all its texts, and the programs
/// among the files its commands name. Sorted by path. The other named files are its input,
/// which may change at any time.
pub fn reviewed_files(host: &Host, loaded: &LoadedPlan) -> Result<Vec<PinnedFile>, CommandError> {
    let goal_plan = goal_of(loaded)?;
    let root = &loaded.workspace.root;
    let mut values = JsonObject::new();
    for &one in GoalParam::ALL {
        values.insert(one.as_str().to_owned(), one.default_value().into());
    }
    let params = resolve_params(&goal_plan.whole_plan.parts().params, &values)?;
    let unreadable = |error: WorkError| CommandError::new(CliExitCode::Usage, error.reason);
    let mut named = pinned::files(&goal_plan.whole_plan, root, &params).map_err(unreadable)?;
    for notify in &goal_plan.goal.notify {
        if let NotificationDelivery::Exec(argv) = &notify.by {
            named.extend(pinned::files_named_by(argv, root).map_err(unreadable)?);
        }
    }
    // Programs that print keys, servers of tools, replies from files.
    let settings = bound_config(loaded);
    for names in ["models", "mcp"].iter().filter_map(|key| settings.get(key)).map(strings) {
        named.extend(pinned::files_named_by(&names, root).map_err(unreadable)?);
    }
    let (programs, others): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(path, _)| is_program(&root.join(path)));
    let tracked = if others.is_empty() { None } else { tracked_files(host, &loaded.workspace)? };
    let is_tracked = |path: &String| tracked.as_ref().is_some_and(|paths| paths.contains(Path::new(path)));
    let others = others.into_iter().filter(|(path, _)| is_tracked(path));
    let files = programs.into_iter().chain(others);
    with_texts(loaded, files.map(|(path, digest)| pin(&loaded.workspace, path, digest)))
}

fn goal_of(loaded: &LoadedPlan) -> Result<&GoalPlan, CommandError> {
    let goal_plan = loaded.goal.as_ref();
    goal_plan.ok_or_else(|| CommandError::new(CliExitCode::Bug, "not a goal"))
}
