//! The runs nobody works on: they are resumed once their requests are answered or over, or if their process died at work.

use std::time::Duration;

use super::{children::ChildPurpose, daemon::Daemon};
use crate::resumption::find_due_runs;
use wf_base::time::Moment;

/// The interval of looks at runs nobody works on.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_mins(1);

/// Resumes runs nobody works on, once their requests are answered or over, or if their process died at work; returns the time at which that of the
/// next one is over.
pub(super) fn resume_due_runs(daemon: &mut Daemon<'_>, now: Moment) -> Option<Moment> {
    // If that cannot be read, it is read the next time.
    let (due, next) = find_due_runs(daemon.caller, &daemon.leadership.reader, now).unwrap_or_default();
    daemon.due_at_resume.retain(|run, _| due.iter().any(|due_run| due_run.run == *run));
    for run in due {
        let purpose = ChildPurpose::Resume(run.run.clone());
        // One that could not go on is tried again once something about it is different.
        if !daemon.children.runs_for(&purpose)
            && daemon.due_at_resume.insert(run.run.clone(), run.mark) != Some(run.mark)
            && daemon.spawn(purpose)
        {
            daemon.caller.message_line(&format!("run {} goes on", run.run.short()));
        }
    }
    next
}
