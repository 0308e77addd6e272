//! The merge of what agents did in worktrees of their own.
//!
//! **Invariant:** only the changes of a successful and checked attempt are merged, each at most once.
//! **Invariant:** what was merged into other files than the attempt began with is reported: its checks did not see the two
//! together.
//! **Invariant:** at most one merge of a run is under way, and they come in the order in which the attempts passed; one
//! waiting for an approval lets the others pass. A step ends after its merge, so its dependents see the changes.
//!
//! ```text
//! checks passed ─▶ merge_requested ─▶ PrepareMerge ─▶ clean ──────▶ merge_started ─▶ Merge ─▶ merge_ended ─▶ step_ended
//!                        ▲                  │           └▶ review: approval ─┐          │
//!                        └──────────────────┼────────────────────────────────┴──────────┘ outdated
//!                                           └▶ conflict: approval = a person has merged it
//! ```

use serde_json::{Value, json};

use crate::machine::{
    state::{
        self, Run, TaskIx, fold::task_end::TaskCompletion, follow_up::FollowUp,
        parts::task_record::TaskMerge, requests, task_phase::ActivityKind,
    },
    words::{
        ApprovalRequest, Attempt, Effect, EventKind, MergeEnd, MergeOutcome, MergePlan, MergePreparation,
        MergeStart, MergeSubject, Standing,
    },
};
use wf_base::units::plural;
use wf_model::{ApprovalRequirement, FailureClass, JsonObject, WorktreeMerge};

/// The number of times that a merge is computed anew because files keep changing.
const MAX_PREPARATIONS: u32 = 5;

/// The reason why a step is only reported though its checks passed.
const UNSEEN: &str = "merged with changes that the workspace has got since the agent began, which its checks did not see; \
                      a check of the plan or of a later step sees both";

/// The same, where a person has merged.
const BY_HAND: &str = "merged by hand, so that its checks saw other files";

/// Begins, or resumes, the first merge in the queue.
pub(in crate::machine) fn begin_merge(run: &mut Run) {
    let first = run.state().agents.next_merge();
    let first = first.filter(|task| !run.flight.is_returning(*task));
    if run.flight.merging_task() == first {
        return;
    }
    run.flight.note_merge(first);
    let Some((task, live)) = first.and_then(|task| Some((task, run.state().activity(task)?))) else {
        return;
    };
    let attempt = state::attempt(run.plan(), task, live.attempt);
    let begun = merge_of(run, task).and_then(|merge| merge.plan.clone());
    run.push_effect(match begun {
        Some(plan) => Effect::Merge(Box::new(MergeStart { attempt, plan })),
        None => Effect::PrepareMerge { attempt },
    });
}

fn merge_of(run: &Run, task: TaskIx) -> Option<&TaskMerge> {
    run.state().task_record(task)?.merge()
}

/// Returns the task of the merge under way, if it belongs to an attempt; `begun`: files are being written.
fn current_merge(run: &Run, attempt: &Attempt, begun: bool) -> Option<TaskIx> {
    let (task, _) = run.current_activity(attempt, ActivityKind::Merging)?;
    let is_begun = merge_of(run, task)?.plan.is_some();
    (run.flight.merging_task() == Some(task) && is_begun == begun).then_some(task)
}

/// Applies a merge that was computed.
pub(in crate::machine) fn on_merge_prepared(run: &mut Run, attempt: &Attempt, preparation: MergePreparation) {
    let Some(task) = current_merge(run, attempt, false) else {
        return;
    };
    if run.is_halting(task) {
        let reason = run.halting_reason();
        let end = TaskCompletion { standing: Standing::Reported, ..TaskCompletion::cancelled(reason) };
        return run.then(FollowUp::EndTask { task, completion: end });
    }
    match preparation {
        MergePreparation::Unchanged => end_merge(run, task, attempt, MergeOutcome::Unchanged),
        MergePreparation::Failed { reason } => {
            end_merge(run, task, attempt, MergeOutcome::Failed { reason });
        }
        MergePreparation::Conflict { plan, files } => ask_to_resolve(run, task, &plan, &files),
        MergePreparation::Clean { plan, diff } => {
            let is_reviewed = run.agent_work(task).is_some_and(|work| work.merge == WorktreeMerge::Review);
            let approved = merge_of(run, task).and_then(|merge| merge.approved.as_ref());
            if is_reviewed && approved != Some(&plan.result) {
                return ask_to_merge(run, task, &plan, diff);
            }
            let start = MergeStart { attempt: attempt.clone(), plan: *plan };
            run.emit(EventKind::MergeStarted(Box::new(start.clone())));
            run.push_effect(Effect::Merge(Box::new(start)));
        }
    }
}

/// Applies the end of a merge.
pub(in crate::machine) fn on_merged(run: &mut Run, attempt: &Attempt, outcome: MergeOutcome) {
    let Some(task) = current_merge(run, attempt, true) else {
        return;
    };
    let outdated = merge_of(run, task).map_or(0, |merge| merge.outdated);
    match outcome {
        MergeOutcome::Outdated if outdated + 1 < MAX_PREPARATIONS => {
            let attempt = attempt.clone();
            run.emit(EventKind::MergeEnded(MergeEnd { attempt, outcome }));
            run.flight.note_merge(None);
        }
        MergeOutcome::Outdated => {
            let reason = "its files change in the workspace whenever they are to be merged".into();
            end_merge(run, task, attempt, MergeOutcome::Failed { reason });
        }
        outcome => end_merge(run, task, attempt, outcome),
    }
}

fn end_merge(run: &mut Run, task: TaskIx, attempt: &Attempt, outcome: MergeOutcome) {
    let merge = merge_of(run, task);
    let standing = merge.map_or(Standing::Reported, |merge| merge.standing);
    let met_changes = merge.and_then(|merge| merge.plan.as_ref()).is_some_and(MergePlan::meets_changes);
    let end = match &outcome {
        MergeOutcome::Merged if met_changes && standing.is_checked() => {
            TaskCompletion { reason: UNSEEN.into(), ..TaskCompletion::success(Standing::Reported) }
        }
        // What the checks saw is not what the person made of it.
        MergeOutcome::ByHand if standing.is_checked() => {
            TaskCompletion { reason: BY_HAND.into(), ..TaskCompletion::success(Standing::Reported) }
        }
        MergeOutcome::ByHand => TaskCompletion::success(Standing::Reported),
        MergeOutcome::Failed { reason } => TaskCompletion::failure(
            Standing::Reported,
            Some(FailureClass::Environmental),
            format!("not merged: {reason}"),
        ),
        MergeOutcome::Merged | MergeOutcome::Unchanged | MergeOutcome::Outdated => {
            TaskCompletion::success(standing)
        }
    };
    let attempt = attempt.clone();
    run.emit(EventKind::MergeEnded(MergeEnd { attempt, outcome }));
    run.then(FollowUp::EndTask { task, completion: end });
}

/// Asks approvers whether the changes of an agent may be merged.
fn ask_to_merge(run: &mut Run, task: TaskIx, plan: &MergePlan, diff: String) {
    let message = format!("merge the changes of the agent to {}?", plural(plan.files.len(), "file"));
    let mut show = shown(plan);
    show.insert("diff".into(), diff.into());
    ask_about_merge(run, task, plan.subject(false), message, show);
}

/// Asks a person to merge the changes of an agent.
fn ask_to_resolve(run: &mut Run, task: TaskIx, plan: &MergePlan, files: &[String]) {
    let message = format!(
        "the changes of the agent conflict with the workspace in {}: merge them by hand, then approve; \
         `git --git-dir={} show {}:FILE` prints a file with conflict markers",
        files.join(", "),
        plan.repository,
        plan.after
    );
    let mut show = shown(plan);
    show.insert("conflicts".into(), json!(files));
    show.insert("with_markers".into(), json!(plan.after));
    ask_about_merge(run, task, plan.subject(true), message, show);
}

fn ask_about_merge(run: &mut Run, task: TaskIx, subject: MergeSubject, message: String, show: JsonObject) {
    let attempt = run.state().activity(task).map_or(0, |live| live.attempt);
    let merge = Some(MergeSubject { attempt, ..subject });
    let ask = requests::draft(run, Some(task), message, &ApprovalRequirement::default());
    requests::open(run, ApprovalRequest { merge, show, ..ask });
}

/// Goes on after a decision about a merge. One to be made was queued again by the decision itself.
pub(in crate::machine) fn on_merge_approved(run: &mut Run, task: TaskIx, subject: &MergeSubject) {
    if subject.by_hand {
        let attempt = state::attempt(run.plan(), task, subject.attempt);
        end_merge(run, task, &attempt, MergeOutcome::ByHand);
    }
}

/// Ends a task whose changes no approver let be merged.
pub(in crate::machine) fn on_merge_denied(run: &mut Run, task: TaskIx, request: &ApprovalRequest, no: &str) {
    let number = run.state().activity(task).map_or(0, |live| live.attempt);
    let attempt = state::attempt(run.plan(), task, number);
    let compare = request.show.get("compare").and_then(Value::as_str).unwrap_or_default();
    let reason = format!("not merged: {no}; `{compare}` prints the changes");
    let end = TaskCompletion::failure(Standing::Reported, Some(FailureClass::Logical), reason.clone());
    let outcome = MergeOutcome::Failed { reason };
    run.emit(EventKind::MergeEnded(MergeEnd { attempt, outcome }));
    run.then(FollowUp::EndTask { task, completion: end });
}

impl MergePlan {
    /// True if the workspace is no more as it was when the agent began. The same files are the same commit.
    pub fn meets_changes(&self) -> bool {
        self.before != self.base
    }

    /// Returns the command that prints the changes.
    fn compare(&self) -> String {
        format!("git --git-dir={} diff {} {}", self.repository, self.base, self.result)
    }

    /// Returns the subject of a request about it, for the attempt that is under way.
    pub(in crate::machine) fn subject(&self, by_hand: bool) -> MergeSubject {
        MergeSubject { attempt: 0, base: self.base.clone(), result: self.result.clone(), by_hand }
    }
}

/// Returns what approvers see of every merge. They sign it.
fn shown(plan: &MergePlan) -> JsonObject {
    let compare = plan.compare();
    JsonObject::from_iter([
        ("base".into(), json!(plan.base)),
        ("result".into(), json!(plan.result)),
        ("files".into(), json!(plan.files)),
        ("compare".into(), json!(compare)),
    ])
}
