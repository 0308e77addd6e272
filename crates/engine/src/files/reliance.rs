//! The changes of evidence: while an attempt relies on it, and before its run ends.

use std::sync::Arc;

use wf_core::machine::{Attempt, InputKind, StaleFile, TaskId};
use wf_exec::evidence::{EvidenceTrace, first_stale};
use wf_model::SandboxPermissions;

use super::copies;
use crate::{
    run::{AttemptTask, RunContext, attempt_task::step_of, result_files::KeptFile},
    session::UnitResult,
};

/// Checks the evidence of tasks again, before their run ends. Missing files were cleaned up, if there are
/// steps for that.
pub(crate) async fn confirm(run: Arc<RunContext>, places: Vec<TaskId>) -> UnitResult {
    let gone = !run.plan.has_finally();
    let look = move || {
        let stale = places.into_iter().filter_map(|place| stale_file(&run, place, gone));
        stale.collect()
    };
    let stale = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    Ok(Some(InputKind::Confirmed { stale }))
}

fn stale_file(run: &RunContext, task_id: TaskId, gone: bool) -> Option<StaleFile> {
    let evidence = run.evidence_of(&task_id)?;
    let session = &run.session;
    let path = first_stale(&session.root, &evidence, &session.shared.memo, gone)?;
    Some(StaleFile { task_id, path })
}

/// Returns the tasks with evidence an attempt depends on directly.
fn dependencies(run: &RunContext, attempt: &Attempt) -> Vec<TaskId> {
    let step = step_of(run, &attempt.task_id);
    let needed = step.depends_on.iter().map(|ix| &run.plan.step(*ix).id);
    run.tasks_with_evidence(needed)
}

/// Returns the permissions of a step, if it is confined.
fn permissions_of(run: &RunContext, attempt: &Attempt) -> Option<Box<SandboxPermissions>> {
    let allow = &step_of(run, &attempt.task_id).allow;
    allow.clone().filter(|_| run.session.sandboxes.is_some())
}

/// The verified files an attempt reads: a change to them meanwhile lets it read something other than was verified.
#[derive(Default)]
pub(crate) struct ReliedEvidence {
    /// The files of results a confined attempt depends on and cannot write.
    results: Vec<(TaskId, EvidenceTrace)>,
    /// The files it reads as they lie there, instead of a copy.
    uncopied_evidence: Option<EvidenceTrace>,
    /// One of these that had changed when its engine adopted it.
    swapped_file: Option<String>,
}

impl ReliedEvidence {
    /// Checks the evidence of what an attempt depends on, before it begins. A file that has changed by then
    /// is noted at once. For an unconfined step this happens once: later its own writes may be the change.
    pub(crate) async fn check_before(task: &AttemptTask) -> Self {
        let AttemptTask { run, attempt, since, .. } = task;
        let allow = permissions_of(run, attempt);
        let is_first = attempt.attempt == 1 && attempt.task_id.item.is_none_or(|item| item == 0);
        let is_checked = allow.is_some() || (is_first && since.is_none());
        let places = if is_checked { dependencies(run, attempt) } else { Vec::new() };
        let (run, attempt, is_adopted) = (Arc::clone(run), attempt.clone(), since.is_some());
        let look = move || {
            let uncopied = copies::uncopied_files(&run, &attempt, allow.as_deref());
            let paths = uncopied.iter().map(KeptFile::path);
            Self {
                uncopied_evidence: (!uncopied.is_empty())
                    .then(|| EvidenceTrace::from_paths(&run.session.root, paths)),
                swapped_file: copies::changed_file(&run, uncopied.iter().filter(|_| is_adopted)),
                results: places
                    .into_iter()
                    .filter_map(|place| relied_files(&run, allow.as_deref(), place))
                    .collect(),
            }
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Notes the results with files touched since. Returns a file the attempt may have read as it was not verified.
    pub(crate) fn end(self, run: &RunContext) -> Option<String> {
        let root = &run.session.root;
        for (task_id, traces) in self.results {
            // A step that declares a file may have begun to change it.
            let evidence = run.evidence_of(&task_id).unwrap_or_default();
            let is_evidence = |path: &str| evidence.iter().any(|file| file.path == path);
            if let Some(path) = traces.touched_among(root, is_evidence) {
                let path = path.to_owned();
                run.note_stale(StaleFile { task_id, path });
            }
        }
        let touched = self.uncopied_evidence.as_ref().and_then(|traces| traces.touched(root));
        self.swapped_file.or_else(|| touched.map(str::to_owned))
    }
}

/// Returns traces of the files of a task a confined attempt only reads; `None`, and a note, if one has changed.
fn relied_files(
    run: &RunContext,
    permissions: Option<&SandboxPermissions>,
    task_id: TaskId,
) -> Option<(TaskId, EvidenceTrace)> {
    // In this order: any write after the traces leaves others.
    let traces = permissions.and_then(|allow| {
        let mut evidence = run.evidence_of(&task_id)?;
        // Files that it writes itself may be in any state.
        evidence.retain(|file| !allow.writes(&file.path));
        Some(EvidenceTrace::from_paths(&run.session.root, evidence.iter().map(|file| file.path.as_str())))
    });
    match stale_file(run, task_id.clone(), true) {
        None => Some((task_id, traces?)),
        Some(stale) => {
            run.note_stale(stale);
            None
        }
    }
}
