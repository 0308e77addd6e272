//! The conversations of a run a backend drives: its hosts have neither the state of the workspace nor its other runs.
//!
//! ```text
//! before it starts   EarlierConversations ──▶ with the definition of the run
//! on a host          earlier turns, and those in the folder of the run ──▶ a briefing;  a new turn ──▶ that folder
//! in the workspace   bring_back: the folder of the run ──▶ the conversation
//! ```
//!
//! **Invariant:** the turn of an attempt is in the conversation of the workspace before the end of the attempt is recorded
//! there.

use std::collections::BTreeMap;

use wf_core::machine::{Attempt, Event, EventKind};
use wf_exec::view::family;
use wf_model::{ConversationUse, Step, StepWork};
use wf_store::StoreError;

use super::conversation::{conversation_folder, folder_blobs, prune, turns};
use crate::{
    run::{RunContext, attempt_task::step_of},
    session::remote_workspace::EarlierConversations,
};

impl EarlierConversations {
    /// Reads the conversations of the session of a run that its plan, or one this uses, names.
    pub(crate) fn from_run(run: &RunContext) -> Result<Self, StoreError> {
        let plans = family(&run.plan);
        let steps = plans.iter().flat_map(|plan| plan.steps());
        let mut conversations = BTreeMap::new();
        for used in steps.filter_map(continued) {
            let folder = conversation_folder(run, &used.name);
            let state = run.session.store.folder().path();
            // Turns that come from hosts are added without a look at the others.
            prune(&folder, state)?;
            conversations.insert(used.name.clone(), turns(&folder, state)?);
        }
        conversations.retain(|_, turns| !turns.is_empty());
        Ok(Self(conversations))
    }
}

/// Returns the conversation a step continues, if its work is an agent that does.
fn continued(step: &Step) -> Option<&ConversationUse> {
    match &step.work {
        StepWork::Agent(work) => work.conversation.as_ref(),
        _ => None,
    }
}

/// True if the work of an attempt is an agent continuing a conversation.
pub(crate) fn continues_conversation(run: &RunContext, attempt: &Attempt) -> bool {
    continued(&step_of(run, &attempt.task_id)).is_some()
}

/// Adds the turns that hosts left in the folder of a run to the conversations of the workspace, before the ends of their
/// attempts are recorded.
pub(crate) fn bring_back(run: &RunContext, events: &[Event]) -> Result<(), StoreError> {
    if run.session.shared.remote.get().is_some() {
        return Ok(());
    }
    let ended = events.iter().filter_map(|event| match &event.fact {
        EventKind::AttemptEnded { attempt, .. } => Some(attempt),
        _ => None,
    });
    for attempt in ended {
        let step = step_of(run, &attempt.task_id);
        let Some(used) = continued(&step) else { continue };
        let carried = run.session.store.folder().carried_conversations(&run.ownership.token.run);
        let (from, to) = (carried.join(used.name.as_str()), conversation_folder(run, &used.name));
        let (from_blobs, to) = (folder_blobs(&from), folder_blobs(&to));
        let digests = from_blobs.digests().map_err(|error| StoreError::io("read", &from, &error))?;
        for digest in digests.into_iter().filter(|digest| !to.path(digest).exists()) {
            to.put_bytes(&from_blobs.read(&digest)?)?;
        }
    }
    Ok(())
}
