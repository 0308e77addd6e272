//! The end of the work on a run: the finished run, the suspended ones that only wait for approvals, and the processes that
//! steps left running.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use wf_base::{
    name::{Name, RunId},
    units::plural,
    untrusted::untrusted,
};
use wf_core::{
    machine::{
        ApprovalRequest, CriteriaCount, Event, EventKind, FailureTally, LeftProcesses, Machine,
        NestedFindings, RunOutcome, StaleFile, Standing, StepCounts, TaskId,
    },
    observe::RunRef,
};
use wf_exec::tree;
use wf_model::JsonObject;

use super::engine_session::EngineSession;

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    pub run: RunId,
    pub outcome: RunOutcome,
    /// The reason; empty for success.
    pub reason: String,
    /// The first failed step.
    pub failed: Option<Name>,
    /// The verification status of its result.
    pub standing: Standing,
    /// The number of its steps by final state.
    pub counts: StepCounts,
    /// The failures in it, by class.
    pub failures: FailureTally,
    /// The findings for a run around it.
    pub findings: NestedFindings,
    /// The tasks with stale evidence.
    pub stale: Vec<StaleFile>,
    pub outputs: JsonObject,
    /// The number of criteria that pass, if the result was accepted with less than all.
    pub accepted_criteria: Option<CriteriaCount>,
}

/// Returns the end of a run, if the event is one; the machine has applied it.
pub(crate) fn finished_run_of(run: &RunId, event: &Event, machine: &Machine) -> Option<FinishedRun> {
    let EventKind::RunEnded {
        outcome,
        reason,
        failed_step: failed,
        standing,
        counts,
        failures,
        outputs,
        stale,
        accepted,
        offers: _,
    } = &event.fact
    else {
        return None;
    };
    Some(FinishedRun {
        run: run.clone(),
        outcome: *outcome,
        reason: reason.clone(),
        failed: failed.clone(),
        standing: *standing,
        counts: *counts,
        failures: *failures,
        findings: machine.findings(),
        stale: stale.clone(),
        outputs: outputs.clone(),
        accepted_criteria: *accepted,
    })
}

/// Returns the recorded end of a run, if it is over.
pub(crate) fn recorded_end(run: &RunId, events: &[(u64, Event)], machine: &Machine) -> Option<FinishedRun> {
    events.last().and_then(|(_, event)| finished_run_of(run, event, machine))
}

/// A pending approval of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SuspendedRequest {
    pub run: RunRef,
    pub request: ApprovalRequest,
}

/// The suspended runs of a session, which only wait for approvals. When all are, the session can
/// end, and the runs can be resumed later.
#[derive(Debug, Default)]
pub(crate) struct SuspendedRuns {
    runs: Mutex<BTreeMap<String, SuspendedRun>>,
    changed: Notify,
}

/// A run that goes on, or is suspended.
#[derive(Debug)]
struct SuspendedRun {
    /// The tasks it is nested in.
    path: Vec<String>,
    /// The approvals it waits for; `None`: it has something to do.
    requests: Option<Vec<SuspendedRequest>>,
}

impl SuspendedRuns {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, SuspendedRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the approvals a run waits for; `None`: it has something to do. They are found while nobody can [rouse](Self::rouse)
    /// it, so that what rouses it is seen either here or there.
    pub(crate) fn note_requests(
        &self,
        run: &RunRef,
        find_requests: impl FnOnce() -> Option<Vec<SuspendedRequest>>,
    ) {
        let mut runs = self.runs();
        let requests = find_requests();
        let idle = requests.is_some();
        let suspended = SuspendedRun { path: run.path.clone(), requests };
        let before = runs.insert(run.id.to_string(), suspended);
        if idle && before.is_none_or(|before| before.requests.is_none()) {
            self.changed.notify_one();
        }
    }

    /// Notes that the run nested in a task was told something, and has to act on it.
    pub(crate) fn rouse(&self, path: &[String]) {
        for run in self.runs().values_mut().filter(|run| run.path == path) {
            run.requests = None;
        }
    }

    /// Forgets an ended run.
    pub(crate) fn forget(&self, run: &RunRef) {
        self.runs().remove(run.id.as_str());
    }

    /// Returns the pending approvals of all runs, if none has anything to do.
    pub(crate) fn questions(&self) -> Option<Vec<SuspendedRequest>> {
        let runs = self.runs();
        let requests: Option<Vec<&Vec<SuspendedRequest>>> =
            runs.values().map(|run| run.requests.as_ref()).collect();
        Some(requests?.into_iter().flatten().cloned().collect())
    }

    /// Waits until one more run has nothing to do.
    pub(crate) async fn wait_for_change(&self) {
        self.changed.notified().await;
    }
}

/// The processes that tasks left running, by the events of their attempts.
#[derive(Default)]
pub(crate) struct LeftRunning(Mutex<Vec<(TaskId, LeftProcesses)>>);

impl LeftRunning {
    /// Notes what an event says of processes a task left.
    pub(crate) fn note_event(&self, event: &Event) {
        if let EventKind::AttemptEnded { attempt, left, .. } = &event.fact
            && !left.left.is_empty()
            && !left.detached
        {
            let noted = (attempt.task_id.clone(), left.clone());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
        }
    }
}

/// Names the processes about to be ended with the run.
pub(crate) fn name_left_processes(session: &EngineSession) {
    let noted = std::mem::take(&mut *session.shared.left.0.lock().unwrap_or_else(PoisonError::into_inner));
    for (place, processes) in noted {
        let ended = tree::running(&processes);
        if !ended.is_empty() {
            let count = plural(ended.len(), "process");
            let commands: Vec<&str> = ended.iter().map(|process| process.command.as_str()).collect();
            let commands = commands.join(", ");
            session.add_note(format!("ended {count} that `{place}` left: {}", untrusted(&commands)));
        }
    }
}
