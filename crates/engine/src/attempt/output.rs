//! The output of attempts, on its way to the observers of the run.

use std::sync::Arc;

use wf_core::{
    machine::{AttemptEnd, LogDigest},
    observe::{OutputInterest, OutputStream},
};
use wf_exec::{OnOutput, log};
use wf_model::Step;

use crate::run::AttemptTask;

/// The number of last lines shown to observers wanting only these; a view keeps fewer.
const MAX_END_LINES: usize = 100;

/// Returns the callback showing all output while it is printed.
pub(crate) fn on_output(task: &AttemptTask) -> Option<OnOutput> {
    let (run, attempt) = (Arc::clone(&task.run), task.attempt.clone());
    let show = move |stream: log::LogStream, bytes: &[u8]| {
        let stream = match stream {
            log::LogStream::Out => OutputStream::Out,
            log::LogStream::Err | log::LogStream::Note => OutputStream::Err,
        };
        run.session.observe(|observer| observer.output(&run.run_ref, &attempt, stream, bytes));
    };
    (interest(task) == OutputInterest::Everything).then(|| Box::new(show) as OnOutput)
}

/// Digests its log, which is complete; `None`: it wrote none. One that cannot be read has no digest: its writer has
/// reported the failure.
pub(super) async fn log_digest(task: &AttemptTask) -> Option<LogDigest> {
    let (logs, attempt) = (log::RunLogs::new(task.run.dir.clone()), task.attempt.clone());
    if logs.length(&attempt).is_ok_and(|length| length == 0) {
        return None;
    }
    let digest = tokio::task::spawn_blocking(move || logs.digest(&attempt)).await;
    digest.ok().and_then(Result::ok).flatten()
}

/// Shows the last lines of a failed attempt, or of one still to be judged. A log that cannot be read shows nothing;
/// the error is reported elsewhere.
pub(super) fn show_end(task: &AttemptTask, step: &Step, attempt_end: &AttemptEnd) {
    let gates = &task.run.plan.parts().gates;
    let decided = step.verify.is_empty() && step.gates.is_empty() && gates.is_empty();
    if attempt_end.exit.is_success() && decided || interest(task) != OutputInterest::Ends {
        return;
    }
    let end = log::RunLogs::new(task.run.dir.clone()).tail(&task.attempt, MAX_END_LINES);
    let Some(mut text) = end.ok().filter(|text| !text.is_empty()) else {
        return;
    };
    text.push('\n');
    let (run, attempt) = (&task.run, &task.attempt);
    let show = |observer: &mut dyn wf_core::observe::RunObserver| {
        observer.output(&run.run_ref, attempt, OutputStream::Out, text.as_bytes());
    };
    run.session.observe(show);
}

fn interest(task: &AttemptTask) -> OutputInterest {
    let mut interest = OutputInterest::default();
    task.run.session.observe(|observer| interest = observer.wants_output());
    interest
}
