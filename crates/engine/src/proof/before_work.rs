//! The checks run on the workspace before the work: what passes already shows nothing, and the tests passing then must
//! pass after it.
//!
//! **Invariant:** the findings are on disk before the first attempt of a task does anything. From then on the workspace
//! is no longer as it was before the work, so they are never taken again.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::watch;

use wf_base::name::Name;
use wf_core::machine::{
    Attempt, AttemptEnd, CheckRuling, CheckVerdict, InputKind, PriorFinding, TaskId, WorkExit,
};
use wf_exec::{StopLevel, WorkError, log};
use wf_model::{Check, Step};

use super::judging::CheckSubject;
use crate::{
    files::copies,
    run::{RunContext, attempt_task::written_step},
};

/// The findings of the checks of a task before its work.
pub(super) type PriorFindings = BTreeMap<Name, PriorFinding>;

/// The reason why an attempt does not begin, after the name of the check.
const PASSES_ALREADY: &str = "passes already, before the work: it would show nothing; if an earlier run left its work \
    here, undo that first";

/// True if a check of a step is run before the work.
pub(crate) fn is_wanted(step: &Step) -> bool {
    step.verify.iter().any(Check::is_run_before)
}

/// Returns the recorded findings of a task; `None`: its checks have not been run before its work.
pub(crate) fn recorded(run: &RunContext, task_id: &TaskId) -> Option<PriorFindings> {
    let text = std::fs::read(path(run, task_id)).ok()?;
    serde_json::from_slice(&text).ok()
}

fn path(run: &RunContext, task_id: &TaskId) -> PathBuf {
    let task = Attempt { task_id: task_id.clone(), attempt: 0 };
    log::path(&run.dir, &task).with_extension("before.json")
}

/// Runs the checks of an attempt to be run before the work, unless they were. Returns the end of the attempt if it must
/// not begin.
pub(crate) async fn examine(subject: &CheckSubject, stop: &watch::Receiver<StopLevel>) -> Option<InputKind> {
    let attempt = subject.attempt.as_ref()?;
    let run = &subject.run;
    if recorded(run, &attempt.task_id).is_some() {
        return None;
    }
    let verdicts = subject.verdicts_before(stop).await;
    let ended = |exit| Some(InputKind::Ended(AttemptEnd::new(attempt.clone(), exit)));
    if *stop.borrow() != StopLevel::No {
        return ended(WorkExit::Cancelled);
    }
    let step = written_step(run, &attempt.task_id);
    let must_fail = |verdict: &&CheckVerdict| {
        let check = step.verify.iter().find(|check| check.name == verdict.name);
        check.is_some_and(|check| check.before.is_some())
    };
    for verdict in verdicts.iter().filter(must_fail) {
        let name = &verdict.name;
        let refusal = match verdict.ruling {
            CheckRuling::Pass => WorkError::logical(format!("check `{name}` {PASSES_ALREADY}")),
            CheckRuling::Fail => continue,
            CheckRuling::Error => WorkError::environmental(format!(
                "check `{name}` could not be evaluated before the work: {}",
                verdict.mismatch()
            )),
        };
        return ended(refusal.into());
    }
    match record(run, &attempt.task_id, verdicts).await {
        Ok(()) => None,
        Err(unable) => ended(unable.into()),
    }
}

async fn record(
    run: &Arc<RunContext>,
    task_id: &TaskId,
    verdicts: Vec<CheckVerdict>,
) -> Result<(), WorkError> {
    let findings: PriorFindings =
        verdicts.into_iter().map(|verdict| (verdict.name.clone(), finding(verdict))).collect();
    let place = task_id.clone();
    copies::blocking(run, move |run| {
        let unable = |error: std::io::Error| {
            WorkError::environmental(format!("cannot record what the checks found before the work: {error}"))
        };
        let text = serde_json::to_vec(&findings).map_err(|error| unable(error.into()))?;
        write_durably(&path(run, &place), &text).map_err(unable)
    })
    .await
}

/// Writes a file at once or not at all, durably.
fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let above = path.parent().unwrap_or(path);
    std::fs::create_dir_all(above)?;
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    File::open(above)?.sync_all()
}

fn finding(verdict: CheckVerdict) -> PriorFinding {
    let reason = if verdict.ruling == CheckRuling::Pass { String::new() } else { verdict.mismatch() };
    PriorFinding {
        ruling: verdict.ruling,
        found: reason,
        tests: verdict.tests.map(|tests| *tests).unwrap_or_default(),
    }
}
