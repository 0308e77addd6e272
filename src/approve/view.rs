use std::fmt::Write as _;

use wf_app::{
    Caller,
    approve::{PlanChanges, PlanReview, differences_text, workspace_settings},
};
use wf_base::{
    digest::Sha256Digest,
    units::plural,
    untrusted::{BOLD, GOOD, paint, untrusted},
};
use wf_report::{
    consent::{PlanSummary, consent},
    diff::diff,
};
use wf_sign::approval::{ApprovalToken, ApprovedFileDifference, ParamBound, ReviewPolicy};

/// Describes all effects of a plan.
pub(super) fn plan_summary(review: &PlanReview) -> String {
    let loaded = &review.loaded;
    let files: Vec<(String, Sha256Digest)> =
        review.token.statement.files.iter().map(|pin| (pin.path.clone(), pin.digest)).collect();
    let mut text = consent(
        &loaded.plan,
        &loaded.path,
        &files,
        &review.known_values,
        loaded.goal.as_ref().map(|goal_plan| &*goal_plan.goal),
    );
    text.push_str(&PlanSummary::default().add_workspace_settings(&workspace_settings(loaded)).text());
    text
}

/// Describes all of an approval before it is given.
pub(super) fn approval_text(review: &PlanReview) -> String {
    let (loaded, statement) = (&review.loaded, &review.token.statement);
    let mut text = plan_summary(review);
    let _ = writeln!(text, "\n{}", paint(BOLD, "the approval"));
    for (name, bound) in &statement.params {
        text.push_str(&bound_line(name, bound));
    }
    let noun = loaded.goal.as_ref().map_or("run", |goal_plan| goal_plan.goal.noun());
    let runs = plural(statement.executions as usize, noun);
    let _ = writeln!(text, "  for {runs}, until {}", statement.expires);
    if let Some((replaced, who)) = review.token.replaced() {
        let runs = plural(replaced.executions as usize, noun);
        let (until, who) = (replaced.expires, who.join(", "));
        let _ =
            writeln!(text, "  ! it replaces the approval for {runs} until {until}: {who} must sign again");
    }
    text
}

/// Describes several goals: one with an earlier acceptance and its known text by the changes of meaning, another
/// as a whole; and then each difference of a file once.
pub(super) fn shared_changes_text(caller: &dyn Caller, reviews: &[PlanReview]) -> String {
    let mut text = String::new();
    let mut files: Vec<ApprovedFileDifference> = Vec::new();
    for review in reviews {
        let _ = writeln!(text, "{}", paint(BOLD, &untrusted(&review.loaded.path).to_string()));
        let Some(changes) = review.changes(caller) else {
            text.push_str(&plan_summary(review));
            text.push('\n');
            continue;
        };
        let _ = writeln!(text, "since the approval of {}", changes.issued);
        if changes.old_plan.is_some() {
            text.push_str(&meaning_changes_text(review, &changes));
        } else {
            text.push_str(&plan_summary(review));
        }
        let paths: Vec<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
        let paths = if paths.is_empty() { "no file".into() } else { paths.join(", ") };
        let _ = writeln!(text, "  changed, see below: {}\n", untrusted(&paths));
        files.extend(changes.files);
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup();
    if let Some(review) = reviews.first() {
        text.push_str(&differences_text(caller.host(), &review.loaded.workspace, &files));
    }
    text
}

/// Describes the differences from the last approval: in meaning, and in the executed files.
pub(super) fn changes_text(caller: &dyn Caller, review: &PlanReview) -> String {
    let Some(changes) = review.changes(caller) else {
        return String::new();
    };
    let loaded = &review.loaded;
    let mut text = format!("\n{}\n", paint(BOLD, &format!("since the approval of {}", changes.issued)));
    if changes.files.is_empty() {
        text.push_str("  no changes\n");
        return text;
    }
    text.push_str(&meaning_changes_text(review, &changes));
    text.push_str(&differences_text(caller.host(), &loaded.workspace, &changes.files));
    text
}

fn meaning_changes_text(review: &PlanReview, changes: &PlanChanges) -> String {
    let loaded = &review.loaded;
    changes.old_plan.as_ref().map_or_else(String::new, |(plan, goal)| {
        let now = loaded.goal.as_ref().map(|goal_plan| &*goal_plan.goal);
        let old = PlanSummary::of_plan(plan, &loaded.path).add_goal_if_any(goal.as_deref());
        let new = PlanSummary::of_plan(&loaded.plan, &loaded.path).add_goal_if_any(now);
        diff(&old, &new).text()
    })
}

/// The message about a signed approval.
pub(super) fn signed_message(review: &PlanReview, token: &ApprovalToken, out: &str) -> String {
    let approvers = &review.token.rules.approvers;
    let named: Vec<String> = token
        .signers()
        .flatten()
        .filter_map(|id| approvers.find(id).map(|approver| approver.name.clone()))
        .collect();
    let mut text = format!(
        "{} {} by {} until {}: {}\n",
        paint(GOOD, "approved"),
        untrusted(&review.loaded.path),
        named.join(", "),
        token.statement().expires,
        untrusted(out)
    );
    let missing = (approvers.required as usize).saturating_sub(named.len());
    if approvers.policy == ReviewPolicy::Reviewed && missing > 0 {
        let more = plural(missing, "more approver");
        let _ = writeln!(text, "{more} must sign: wf approve {}", untrusted(&review.loaded.path));
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
