//! The processes that steps left running, which are named when they are ended with the run.

use std::sync::{Mutex, PoisonError};

use wf_base::units::plural;
use wf_base::untrusted::untrusted;
use wf_core::machine::{Event, EventKind, LeftProcesses, TaskId};
use wf_exec::tree;

use super::engine_session::EngineSession;

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
            let noted = (attempt.place.clone(), left.clone());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
        }
    }
}

impl EngineSession {
    /// Names the processes about to be ended with the run.
    pub(crate) fn name_left_processes(&self) {
        let noted = std::mem::take(&mut *self.shared.left.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (place, processes) in noted {
            let ended = tree::running(&processes);
            if !ended.is_empty() {
                let count = plural(ended.len(), "process");
                let commands: Vec<&str> = ended.iter().map(|process| process.command.as_str()).collect();
                let commands = commands.join(", ");
                self.add_note(format!("ended {count} that `{place}` left: {}", untrusted(&commands)));
            }
        }
    }
}
