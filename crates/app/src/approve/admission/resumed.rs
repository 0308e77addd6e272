use std::path::Path;

use super::refused::refuse_run;
use crate::{
    Caller, CommandError, Host,
    approve::{
        accepted::{approved_config, config_of, with_config},
        pins::{current_tree, token_path},
        rules::SigningRules,
        skilled::check_skills,
        spawned::spawned_goal,
    },
    specs::load::LoadedPlan,
};
use wf_base::{name::RunId, time::Moment};
use wf_core::machine::{EventKind, RunApproval};
use wf_sign::approval::{
    ApprovalContext, ApprovalRefusal, ApprovalToken, ReviewPolicy, check, check_unconsumed,
};
use wf_store::StoreReader;

/// Checks that a started run may be resumed: the approval it started with must still be valid.
/// It is not used again, and was in time when the run started; but its signatures must verify, with
/// keys that are valid now, and the plan must be the approved one. Silas 5.2.1 step 0, `check`.
pub fn reauthorize(
    caller: &dyn Caller,
    reader: &StoreReader,
    run: &RunId,
    loaded: &LoadedPlan,
) -> Result<(), CommandError> {
    let Some(recorded) = initial_approval(reader, run)? else {
        return Ok(());
    };
    let approved = &recorded.approved;
    let pinned = [&*approved.pinned_files, &*approved.skills].concat();
    check_skills(caller, loaded, &pinned, true)?;
    let rules = SigningRules::of(caller, &loaded.workspace)?;
    match reverify_approval(caller.host(), reader, run, loaded, &recorded, &rules)? {
        Ok(()) => Ok(()),
        // Under this policy a user who resumes a run approves it; the key may be of another machine.
        Err(ApprovalRefusal::Unlisted(_) | ApprovalRefusal::Missing(_))
            if rules.approvers.policy == ReviewPolicy::Owner && approved.pinned_files.is_empty() =>
        {
            Ok(())
        }
        Err(refusal) => Err(refuse_run(caller, &loaded.workspace, &loaded.path, &refusal)),
    }
}

/// The approval a run started with, and the time.
struct InitialApproval {
    at: Moment,
    approved: RunApproval,
}

/// Returns the approval a run started with.
fn initial_approval(reader: &StoreReader, run: &RunId) -> Result<Option<InitialApproval>, CommandError> {
    let events = reader.events().of_run(run, 0)?;
    let approval = events.into_iter().find_map(|(_, event)| match event.fact {
        EventKind::RunApproved(approved) => Some(InitialApproval { at: event.at, approved: *approved }),
        _ => None,
    });
    Ok(approval)
}

fn reverify_approval(
    host: &Host,
    reader: &StoreReader,
    run: &RunId,
    loaded: &LoadedPlan,
    approval: &InitialApproval,
    rules: &SigningRules,
) -> Result<Result<(), ApprovalRefusal>, CommandError> {
    let InitialApproval { at, approved } = approval;
    let params = reader.runs().get(run)?.params;
    let path = token_path(Path::new(&loaded.path)).display().to_string();
    let texts = reader.sources().of_run(run)?;
    let Some((_, text)) = texts.into_iter().find(|(name, _)| *name == path) else {
        return Ok(Err(ApprovalRefusal::Missing(path)));
    };
    let token = match ApprovalToken::parse(&text) {
        Ok(token) if token.digest() == approved.token => token,
        Ok(_) => return Ok(Err(ApprovalRefusal::OtherRun(run.clone()))),
        Err(refusal) => return Ok(Err(refusal)),
    };
    // Of a run that signed for itself only the texts are compared: the files that it executes may
    // be its own products.
    let files = if approved.is_in_advance() {
        let files = current_tree(host, loaded, &params, approved)?.files;
        with_config(&files, approved_config(config_of(&files), loaded, token.statement()))
    } else {
        token.statement().files.clone()
    };
    let mut approvers = rules.approvers.clone();
    if token.statement().run.is_some() {
        approvers.required = 1;
    }
    let spawned = spawned_goal(loaded, &files).filter(|_| token.statement().spawn_policy.is_some());
    let subject = ApprovalContext {
        scope: token.statement().scope,
        plan: loaded.plan.id(),
        path: &loaded.path,
        files: &files,
        params: &params,
        run: Some(run),
        request_ref: None,
        initiator: approved.initiator,
        spawned: spawned.as_ref(),
        now: *at,
    };
    let validated = match approved.execution {
        // A check run used up nothing of it.
        0 => check_unconsumed(&token, &subject, &approvers),
        used => check(&token, &subject, &approvers, used),
    };
    Ok(validated.map(|_| ()))
}
