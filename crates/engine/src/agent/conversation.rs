//! The sessions that agents continue: their turns, one file each, in the state of the workspace.
//!
//! **Invariant:** a turn counts only if its step succeeded with that attempt: what failed, or was lost, is in no
//! session. The file is there before the end of the attempt is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::EngineSession;
use crate::run::RunContext;
use wf_base::name::Name;
use wf_core::agent::{PersonaOccurrence, PriorSession, SESSION_TURNS, SessionTurn, mood, occurrences};
use wf_core::machine::{Attempt, StepState};
use wf_exec::WorkError;
use wf_model::{AgentSessionUse, MoodWeights, PersonaEvent};
use wf_store::{BlobStore, StoreDurability, StoreError, StoreReader};

/// The sessions that the agents of a recorded run continued, by the tasks above its run and the attempt.
pub type RecordedSessions = BTreeMap<(Vec<String>, Attempt), PriorSession>;

impl EngineSession {
    /// Lets agents continue the sessions of a recorded run, and none of this workspace.
    pub fn use_recorded_sessions(&self, recorded: RecordedSessions) {
        let _ = self.shared.sessions.set(recorded);
    }
}

/// Returns what is left of a session that an attempt continues.
pub(super) async fn prior_session(
    run: &Arc<RunContext>,
    attempt: &Attempt,
    used: &AgentSessionUse,
    weights: Option<&MoodWeights>,
) -> Result<PriorSession, WorkError> {
    let now = run.session.clock.now();
    if let Some(recorded) = run.session.shared.sessions.get() {
        let found = recorded.get(&(run.run_ref.path.clone(), attempt.clone())).cloned();
        return Ok(found.unwrap_or_else(|| PriorSession::of(&used.name, Vec::new(), now, used.idle)));
    }
    let folder = run.session.store.folder().session(&used.name);
    let state = run.session.store.folder().path().to_path_buf();
    let read = move || turns(&folder, &state);
    let turns = tokio::task::spawn_blocking(read).await;
    let turns = turns.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()));
    let failed = |error: StoreError| {
        WorkError::environmental(format!("the session `{}` cannot be read: {error}", used.name))
    };
    let StoredTurns { counted, occurred } = turns.map_err(failed)?;
    let mood = weights.map(|weights| mood(weights, occurred, now)).unwrap_or_default();
    Ok(PriorSession { mood, ..PriorSession::of(&used.name, counted, now, used.idle) })
}

/// The session that an agent continues, and what it was asked.
pub(super) struct ContinuedSession {
    pub(super) name: Name,
    pub(super) question: String,
    /// The event that a person lets the step tell.
    pub(super) event: Option<PersonaEvent>,
    /// True if its persona has moods, which attempts without an answer change, too.
    pub(super) has_moods: bool,
}

impl ContinuedSession {
    /// Adds the turn of an attempt that ended without an answer, where that counts.
    pub(super) async fn add_blocked(&self, run: &RunContext, attempt: &Attempt) -> Result<(), StoreError> {
        if !self.has_moods {
            return Ok(());
        }
        self.put(run, attempt, None, None).await
    }

    /// Adds the turn of an attempt. `untrusted` is the source of untrusted text that its agent was given.
    pub(super) async fn add(
        &self,
        run: &RunContext,
        attempt: &Attempt,
        answer: &str,
        untrusted: Option<String>,
    ) -> Result<(), StoreError> {
        self.put(run, attempt, Some(answer), untrusted).await
    }

    async fn put(
        &self,
        run: &RunContext,
        attempt: &Attempt,
        answer: Option<&str>,
        untrusted: Option<String>,
    ) -> Result<(), StoreError> {
        let mask = run.mask().await;
        let turn = SessionTurn {
            at: run.session.clock.now(),
            run: run.run_ref.id.clone(),
            step: attempt.place.step.clone(),
            item: attempt.place.item,
            attempt: attempt.attempt,
            question: mask.text(&self.question).into_owned(),
            answer: mask.text(answer.unwrap_or_default()).into_owned(),
            blocked: answer.is_none(),
            event: self.event,
            untrusted,
        };
        let store = &run.session.store;
        let blobs = store.blobs().in_folder(store.folder().session(&self.name));
        let bytes = serde_json::to_vec(&turn).unwrap_or_default();
        let stored = tokio::task::spawn_blocking(move || blobs.put_bytes(&bytes)).await;
        stored.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic())).map(drop)
    }
}

/// The turns of a session.
struct StoredTurns {
    /// The last turns that count.
    counted: Vec<SessionTurn>,
    /// The events that all turns tell of.
    occurred: Vec<PersonaOccurrence>,
}

/// Reads the turns in a folder.
fn turns(folder: &Path, state: &Path) -> Result<StoredTurns, StoreError> {
    let mut stored = stored(folder)?;
    stored.sort_by_key(|turn| std::cmp::Reverse((turn.at, turn.attempt)));
    let reader = StoreReader::open(state)?;
    let mut steps = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut told = BTreeSet::new();
    let (mut counted, mut occurred) = (Vec::new(), Vec::new());
    for turn in stored {
        if !steps.contains_key(&turn.run) {
            steps.insert(turn.run.clone(), reader.steps(&turn.run)?);
        }
        let mut rows = steps.get(&turn.run).into_iter().flatten();
        let Some(row) = rows.find(|row| row.step == turn.step && row.item == turn.item) else {
            continue;
        };
        let task = (turn.run.clone(), turn.step.clone(), turn.item);
        // An attempt that ended in two engines has two turns.
        if told.insert((task.clone(), turn.attempt)) {
            occurred.extend(occurrences(&turn, row.state, row.attempts));
        }
        if turn.blocked || counted.len() == SESSION_TURNS || !seen.insert(task) {
            continue;
        }
        let counts = row.state == StepState::Succeeded && row.attempts == turn.attempt;
        counted.extend(counts.then_some(turn));
    }
    Ok(StoredTurns { counted, occurred })
}

fn stored(folder: &Path) -> Result<Vec<SessionTurn>, StoreError> {
    let failed = |error: std::io::Error| StoreError::io("read", folder, &error);
    let blobs = BlobStore::new(folder.to_owned(), StoreDurability::Normal);
    let mut turns = Vec::new();
    for digest in blobs.digests().map_err(failed)? {
        let turn: Option<SessionTurn> = serde_json::from_slice(&blobs.read(&digest)?).ok();
        turns.extend(turn);
    }
    Ok(turns)
}
