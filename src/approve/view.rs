use std::fmt::Write as _;

use wf_app::Caller;
use wf_app::approve::{PlanReview, differences_text, workspace_settings};
use wf_base::digest::Sha256Digest;
use wf_base::units::plural;
use wf_base::untrusted::{BOLD, GOOD, paint, untrusted};
use wf_report::consent::{PlanSummary, consent};
use wf_report::diff::diff;
use wf_sign::approval::{ApprovalToken, ParamBound, ReviewPolicy};

/// Describes everything that a plan will do.
pub(super) fn plan_summary(review: &PlanReview) -> String {
    let ready = &review.ready;
    let files: Vec<(String, Sha256Digest)> =
        review.token.statement.files.iter().map(|pin| (pin.path.clone(), pin.digest)).collect();
    let mut text = consent(
        &ready.plan,
        &ready.path,
        &files,
        &review.known_values,
        ready.goal.as_ref().map(|of| &*of.goal),
    );
    text.push_str(&PlanSummary::default().add_workspace_settings(&workspace_settings(ready)).text());
    text
}

/// Describes everything that is about to be approved.
pub(super) fn approval_text(review: &PlanReview) -> String {
    let (ready, statement) = (&review.ready, &review.token.statement);
    let mut text = plan_summary(review);
    let _ = writeln!(text, "\n{}", paint(BOLD, "the approval"));
    for (name, bound) in &statement.params {
        text.push_str(&bound_line(name, bound));
    }
    let noun = ready.goal.as_ref().map_or("run", |of| of.goal.noun());
    let runs = plural(statement.executions as usize, noun);
    let _ = writeln!(text, "  for {runs}, until {}", statement.expires);
    text
}

/// Describes the differences from the last approval: in meaning, and in the files that are executed.
pub(super) fn changes_text(caller: &dyn Caller, review: &PlanReview) -> String {
    let Some(changes) = review.changes(caller) else {
        return String::new();
    };
    let ready = &review.ready;
    let mut text = format!("\n{}\n", paint(BOLD, &format!("since the approval of {}", changes.issued)));
    if changes.files.is_empty() {
        text.push_str("  no changes\n");
        return text;
    }
    if let Some((plan, goal)) = &changes.before {
        let now = ready.goal.as_ref().map(|of| &*of.goal);
        let old = PlanSummary::of_plan(plan, &ready.path).add_goal_if_any(goal.as_deref());
        let new = PlanSummary::of_plan(&ready.plan, &ready.path).add_goal_if_any(now);
        text.push_str(&diff(&old, &new).text());
    }
    text.push_str(&differences_text(caller.host(), &ready.workspace, &changes.files));
    text
}

/// The message about an approval that was signed.
pub(super) fn signed_message(review: &PlanReview, token: &ApprovalToken, out: &str) -> String {
    let approvers = &review.token.rules.approvers;
    let named: Vec<String> =
        token.signers().flatten().filter_map(|id| approvers.find(id).map(|one| one.name.clone())).collect();
    let mut text = format!(
        "{} {} by {} until {}: {}\n",
        paint(GOOD, "approved"),
        untrusted(&review.ready.path),
        named.join(", "),
        token.statement().expires,
        untrusted(out)
    );
    let missing = (approvers.required as usize).saturating_sub(named.len());
    if approvers.policy == ReviewPolicy::Reviewed && missing > 0 {
        let more = plural(missing, "more approver");
        let _ = writeln!(text, "{more} must sign: wf approve {}", untrusted(&review.ready.path));
    }
    text
}

/// The approved bound of a parameter, in one line.
fn bound_line(name: &str, bound: &ParamBound) -> String {
    match bound {
        ParamBound::Is(value) => format!("  {name} = {value}\n"),
        ParamBound::Within(schema) => format!("  {name}: any value within {schema}\n"),
    }
}
