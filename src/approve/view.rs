use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::bounds::bound_line;
use super::plan::PlanReview;
use wf_app::Caller;
use wf_app::approve::differences_text as difference;
use wf_app::approve::text_by_digest;
use wf_app::load::{self, LoadedPlan};
use wf_base::digest::Sha256Digest;
use wf_base::units::plural;
use wf_base::untrusted::untrusted;
use wf_base::untrusted::{BOLD, GOOD, paint};
use wf_lang::InMemoryFiles;
use wf_report::consent::{PlanSummary, WorkspaceSettings, consent};
use wf_report::diff::diff;
use wf_sign::approval::{ApprovalRefusal, ApprovalStatement, ApprovalToken, ReviewPolicy, differences};

/// Describes everything that a plan will do.
pub(super) fn plan_summary(proposal: &PlanReview) -> String {
    let ready = &proposal.ready;
    let files: Vec<(String, Sha256Digest)> =
        proposal.pins.iter().map(|pin| (pin.path.clone(), pin.digest)).collect();
    let mut text = consent(
        &ready.plan,
        &ready.path,
        &files,
        &proposal.bounds.known_values,
        ready.goal.as_ref().map(|of| &*of.goal),
    );
    text.push_str(&PlanSummary::default().add_workspace_settings(&workspace_settings(ready)).text());
    text
}

/// Describes everything that is about to be approved.
pub(super) fn approval_text(proposal: &PlanReview, statement: &ApprovalStatement) -> String {
    let ready = &proposal.ready;
    let mut text = plan_summary(proposal);
    let _ = writeln!(text, "\n{}", paint(BOLD, "the approval"));
    for (name, bound) in &statement.params {
        text.push_str(&bound_line(name, bound));
    }
    let noun = if ready.goal.is_some() { "repair" } else { "run" };
    let runs = plural(statement.executions as usize, noun);
    let _ = writeln!(text, "  for {runs}, until {}", statement.expires);
    text
}

fn workspace_settings(ready: &LoadedPlan) -> WorkspaceSettings<'_> {
    WorkspaceSettings {
        is_sandboxed: ready.config.sandbox.on,
        readable_paths: &ready.config.sandbox.read,
        env_passthrough: &ready.config.env_pass,
    }
}

/// Describes the differences from the last approval: in meaning, and in the files that are executed.
pub(super) fn changes_text(
    caller: &dyn Caller,
    proposal: &PlanReview,
    last: &Result<ApprovalToken, ApprovalRefusal>,
) -> String {
    let Ok(last) = last else {
        return String::new();
    };
    let ready = &proposal.ready;
    let different = differences(&last.statement().files, &proposal.pins);
    let issued = last.statement().issued;
    let mut text = format!("\n{}\n", paint(BOLD, &format!("since the approval of {issued}")));
    if different.is_empty() {
        text.push_str("  no changes\n");
        return text;
    }
    let before: BTreeMap<String, Vec<u8>> = last
        .statement()
        .files
        .iter()
        .filter(|pin| is_text(ready, &pin.path))
        .filter_map(|pin| {
            let known = text_by_digest(caller.host(), &ready.workspace, &pin.path, pin.digest)?;
            Some((pin.path.clone(), known.into_bytes()))
        })
        .collect();
    if let Some((plan, goal)) =
        load::collect_plan_and_goal(&InMemoryFiles(before), &ready.path, ready.options)
    {
        let goals = (goal.as_deref(), ready.goal.as_ref().map(|of| &*of.goal));
        let old = PlanSummary::of_plan(&plan, &ready.path).add_goal_if_any(goals.0);
        let new = PlanSummary::of_plan(&ready.plan, &ready.path).add_goal_if_any(goals.1);
        text.push_str(&diff(&old, &new).text());
    }
    text.push_str(&difference(caller.host(), &ready.workspace, &different));
    text
}

/// True if a file may be a source of the plan: its earlier version is looked up.
fn is_text(ready: &LoadedPlan, path: &str) -> bool {
    let mut sources = ready.sources.iter();
    let is_of_gates = path.starts_with("gates/");
    is_of_gates || sources.any(|(source, _)| source == path)
}

/// The message about an approval that was signed.
pub(super) fn signed_message(proposal: &PlanReview, token: &ApprovalToken, out: &str) -> String {
    let approvers = &proposal.rules.approvers;
    let named: Vec<String> =
        token.signers().flatten().filter_map(|id| approvers.find(id).map(|one| one.name.clone())).collect();
    let mut text = format!(
        "{} {} by {} until {}: {}\n",
        paint(GOOD, "approved"),
        untrusted(&proposal.ready.path),
        named.join(", "),
        token.statement().expires,
        untrusted(out)
    );
    let missing = (approvers.required as usize).saturating_sub(named.len());
    if approvers.policy == ReviewPolicy::Reviewed && missing > 0 {
        let more = plural(missing, "more approver");
        let _ = writeln!(text, "{more} must sign: wf approve {}", untrusted(&proposal.ready.path));
    }
    text
}
