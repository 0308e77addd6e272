use std::path::Path;

use serde_json::Value;

use crate::{CommandError, StateReader, Workspace};
use wf_base::{digest::Sha256Digest, duration_text::without_durations, name::RunId, time::Moment};
use wf_engine::to_portable;
use wf_report::{
    follow::{EVENT_VERSION, EventLine},
    replay::comparable_event,
};
use wf_store::{CallBodyStore, StateFolder, StoreDurability, StoreReader};

/// The depth to which nested runs are read; deeper ones cannot be made.
const MAX_DEPTH: usize = 32;

/// A record from which events are read, and the workspace of its runs.
struct EventSource<'a> {
    reader: &'a StoreReader,
    folder: StateFolder,
    root: &'a Path,
}

/// Returns the events of a run and of those nested in it, without what a replay cannot repeat, in the order of their
/// times.
pub fn recorded_events(workspace: &Workspace, run: &RunId) -> Result<Vec<Value>, CommandError> {
    events_of(StateReader::open(workspace)?.store(), &workspace.root, run)
}

/// Does the same with an open state.
pub(super) fn events_of(reader: &StoreReader, root: &Path, run: &RunId) -> Result<Vec<Value>, CommandError> {
    let source = EventSource { reader, folder: reader.folder().clone(), root };
    let mut events = Vec::new();
    source.collect(run, &[], &mut events)?;
    // Stable: within a run they are in their order.
    events.sort_by_key(|(at, _)| *at);
    Ok(events.into_iter().map(|(_, event)| event).collect())
}

impl EventSource<'_> {
    fn collect(
        &self,
        run: &RunId,
        parents: &[String],
        events: &mut Vec<(Moment, Value)>,
    ) -> Result<(), CommandError> {
        let bodies = CallBodyStore::new(self.folder.calls(run), StoreDurability::Normal);
        for (_, event) in self.reader.events().of_run(run, 0)? {
            let at = event.at;
            let line = EventLine { v: EVENT_VERSION, run: run.clone(), parents: parents.to_vec(), event };
            let line = serde_json::to_value(line).unwrap_or_default();
            let line = to_portable(&line, self.root);
            let digest = |digest: &str| self.portable_digest(&bodies, digest);
            events.extend(comparable_event(&line, &digest).map(|event| (at, event)));
        }
        if parents.len() < MAX_DEPTH {
            for (child, attempt) in self.reader.runs().children(run)? {
                let task = attempt.rsplit_once('#').map_or(attempt.as_str(), |(task, _)| task);
                let parents = [parents, &[task.to_owned()]].concat();
                self.collect(&child, &parents, events)?;
            }
        }
        Ok(())
    }

    /// Returns the digest of a body as it would be in any workspace, and without the durations in it.
    fn portable_digest(&self, call_bodies: &CallBodyStore, digest: &str) -> Option<String> {
        let body: Value = serde_json::from_slice(&call_bodies.read(&digest.parse().ok()?).ok()?).ok()?;
        let text = without_durations(&to_portable(&body, self.root).to_string());
        Some(Sha256Digest::of_bytes(text.as_bytes()).to_string())
    }
}
