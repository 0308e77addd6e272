//! The copies of a run and of the runs nested in it, which machines elsewhere decide about.
//!
//! **Invariant:** what is recorded of the family is the beginning of the one order in which it happened. So an event of
//! an outer run relying on a nested one is recorded after it, and a nested run is open until the end of its attempt is.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use wf_base::name::RunId;
use wf_core::{
    machine::{ApprovalRequest, Event, EventKind, TaskId},
    observe::TaskRemark,
};
use wf_store::{Store, StoreError, StoreReader};

use super::{nested_run::NestedRun, replica::RunReplica};
use crate::{
    attempt::cache,
    session::{EngineError, EngineSession, RunRequest, state_addition::StateAddition},
};

/// A run and the runs nested in it that are under way.
pub struct RunFamily {
    outermost_run: RunReplica,
    nested: BTreeMap<RunId, NestedReplica>,
}

/// The copy of a nested run.
struct NestedReplica {
    outer: RunId,
    attempt: String,
    replica: RunReplica,
}

impl RunFamily {
    /// Opens the copy of a run, which is made if there is none. Runs nested in it are opened when they are asked for.
    pub async fn open(session: &Arc<EngineSession>, request: RunRequest) -> Result<Self, EngineError> {
        let outermost = RunReplica::open(session, request).await?;
        Ok(Self { outermost_run: outermost, nested: BTreeMap::new() })
    }

    /// Returns the number of events recorded of all its runs, also of those that have ended.
    pub(super) fn recorded_count(&self, store: &Store) -> Result<u64, StoreError> {
        if self.outermost_run.event_count() == 0 {
            Ok(0)
        } else {
            count(&store.log_reader()?, self.outermost_run.id())
        }
    }

    /// Returns the copy of the outermost run.
    pub fn outermost(&self) -> &RunReplica {
        &self.outermost_run
    }

    /// Returns the copy of a run, if it is open.
    pub fn replica(&self, run: &RunId) -> Option<&RunReplica> {
        if self.outermost_run.id() == run {
            return Some(&self.outermost_run);
        }
        self.nested.get(run).map(|nested| &nested.replica)
    }

    /// Opens the copy of a nested run, unless it is open.
    pub fn open_nested(&mut self, nested: &NestedRun) -> Result<(), EngineError> {
        let id = nested.id();
        if self.nested.contains_key(&id) {
            return Ok(());
        }
        let outer = self.replica(&nested.outer).ok_or_else(|| not_under_way(&nested.outer))?;
        let replica = outer.open_nested(nested)?;
        let (outer, attempt) = (nested.outer.clone(), nested.attempt_path());
        self.nested.insert(id, NestedReplica { outer, attempt, replica });
        Ok(())
    }

    /// Adds the next events of a run. They are durable afterwards, and then shown. An ended nested run with them is
    /// closed.
    pub async fn extend(&mut self, run: &RunId, events: Vec<Event>) -> Result<(), EngineError> {
        let ended: Vec<RunId> = events.iter().filter_map(|event| ended_run(run, &event.fact)).collect();
        let replica = match self.nested.get_mut(run) {
            Some(nested) => &mut nested.replica,
            None if self.outermost_run.id() == run => &mut self.outermost_run,
            None => return Err(not_under_way(run)),
        };
        replica.extend(events).await?;
        for run in ended {
            if let Some(nested) = self.nested.remove(&run) {
                nested.replica.discard();
            }
        }
        Ok(())
    }

    /// Ends the runs, which nothing decides about or works for any more: inner ones first.
    pub(crate) async fn terminate(&mut self, reason: &str) -> Result<(), EngineError> {
        while let Some(run) = self.innermost() {
            if let Some(mut nested) = self.nested.remove(&run) {
                nested.replica.terminate(reason).await?;
                nested.replica.discard();
            }
        }
        self.outermost_run.terminate(reason).await
    }

    /// Returns a nested run in which no other one is nested.
    fn innermost(&self) -> Option<RunId> {
        let is_outer = |run: &RunId| self.nested.values().any(|nested| nested.outer == *run);
        self.nested.keys().find(|run| !is_outer(run)).cloned()
    }

    /// Shows a remark about a task of a run.
    pub(crate) fn remark(&self, run: &RunId, task_id: &TaskId, remark: &TaskRemark) {
        if let Some(replica) = self.replica(run) {
            replica.remark(task_id, remark);
        }
    }

    /// Returns the requests of all runs waiting for approvers.
    pub(super) fn open_requests(&self) -> Vec<(RunId, ApprovalRequest)> {
        let of = |replica: &RunReplica| {
            let run = replica.id().clone();
            replica.open_requests().into_iter().map(move |ask| (run.clone(), ask))
        };
        self.replicas().flat_map(of).collect()
    }

    /// Returns the reason why a run that only waits for people is left, with the requests of all its runs.
    pub(super) fn parked(&self) -> EngineError {
        let questions = self.replicas().flat_map(RunReplica::questions).collect();
        EngineError::Parked { run: self.outermost_run.id().clone(), requests: questions }
    }

    /// True if nothing happens until a person decides.
    pub(super) fn only_waits_for_people(&self) -> bool {
        self.waits_for_people(&self.outermost_run)
    }

    fn waits_for_people(&self, replica: &RunReplica) -> bool {
        let nested = self.nested.values().filter(|nested| nested.outer == *replica.id());
        let waiting = nested.filter(|nested| self.waits_for_people(&nested.replica));
        let waiting: BTreeSet<String> = waiting.map(|nested| nested.attempt.clone()).collect();
        replica.only_waits_for_people(&waiting)
    }

    fn replicas(&self) -> impl Iterator<Item = &RunReplica> {
        std::iter::once(&self.outermost_run).chain(self.nested.values().map(|nested| &nested.replica))
    }
}

/// Returns the nested run ending for its outer one with an event of that, if there is one.
pub fn ended_run(outer: &RunId, kind: &EventKind) -> Option<RunId> {
    match kind {
        EventKind::AttemptEnded { attempt, .. } => Some(outer.child(&attempt.to_string())),
        EventKind::ChildEnded(end) => Some(outer.child(&end.id.attempt_path())),
        _ => None,
    }
}

/// Returns the number of recorded events of a run and of all nested in it.
fn count(reader: &StoreReader, run: &RunId) -> Result<u64, StoreError> {
    let mut events = reader.events().of_run(run, 0)?.len() as u64;
    for (nested, _) in reader.runs().children(run)? {
        events += count(reader, &nested)?;
    }
    Ok(events)
}

fn not_under_way(run: &RunId) -> EngineError {
    let cause = format!("run {} is not under way", run.short());
    EngineError::System { doing: "take over what happened on a backend", cause }
}

impl RunFamily {
    /// Writes additions made elsewhere to the state, and shows what the user should know of them.
    pub(super) async fn write_additions(
        &self,
        additions: Vec<StateAddition>,
        store: &Store,
    ) -> Result<(), StoreError> {
        for addition in additions {
            if let StateAddition::Lookup(lookup) = &addition
                && let Some(remark) = cache::remark_of(lookup)
            {
                self.remark(&lookup.run, &lookup.task_id, &remark);
            }
            addition.write(store).await?;
        }
        Ok(())
    }
}
