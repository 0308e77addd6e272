//! The conversations that agents continue: their turns, one file each, in the state of the workspace.
//!
//! A conversation belongs to the session of its run: under the same name, each session has one of its own.
//!
//! **Invariant:** a turn counts only if its step succeeded with that attempt: failed and lost attempts are in no
//! conversation. The file is there before the end of the attempt is recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use wf_base::{
    digest::Sha256Digest,
    name::{Name, SessionName},
};
use wf_core::{
    agent::{
        CONVERSATION_TURNS, ConversationSummary, ConversationTurn, PersonaOccurrence, PriorConversation,
        mood, occurrences,
    },
    machine::{Attempt, StepState},
};
use wf_exec::WorkError;
use wf_model::{AgentWork, ConversationUse, MoodWeights, PersonaEvent};
use wf_store::{BlobStore, StateFolder, StepRow, StoreDurability, StoreError, StoreReader};

use crate::{run::RunContext, session::remote_workspace::ConversationTurns};

/// Returns what is left of a conversation an attempt continues.
pub(super) async fn prior_conversation(
    run: &Arc<RunContext>,
    attempt: &Attempt,
    conversation_use: &ConversationUse,
    weights: Option<&MoodWeights>,
) -> Result<PriorConversation, WorkError> {
    let now = run.session.clock.now();
    if let Some(recorded) = run.session.shared.conversations.get() {
        let recorded_turns = recorded.get(&(run.run_ref.path.clone(), attempt.clone())).cloned();
        return Ok(recorded_turns.unwrap_or_else(|| {
            PriorConversation::of(&conversation_use.name, Vec::new(), now, conversation_use.idle)
        }));
    }
    let folder = conversation_folder(run, &conversation_use.name);
    let state = run.session.store.folder().path().to_path_buf();
    let read = move || turns(&folder, &state);
    let turns = tokio::task::spawn_blocking(read).await;
    let turns = turns.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()));
    let failed = |error: StoreError| {
        WorkError::environmental(format!(
            "the conversation `{}` cannot be read: {error}",
            conversation_use.name
        ))
    };
    let turns = turns.map_err(failed)?;
    let turns = match run.session.shared.remote.get() {
        Some(state) => state.conversations.add_to(turns, &conversation_use.name),
        None => turns,
    };
    let ConversationTurns { counted, occurred } = turns;
    let mood = weights.map(|weights| mood(weights, occurred, now)).unwrap_or_default();
    Ok(PriorConversation {
        mood,
        ..PriorConversation::of(&conversation_use.name, counted, now, conversation_use.idle)
    })
}

/// The conversation an agent continues, and what it was asked.
pub(super) struct ContinuedConversation {
    pub(super) name: Name,
    pub(super) question: String,
    /// The event a person lets the step tell.
    pub(super) event: Option<PersonaEvent>,
    /// True if its persona has moods, which attempts without an answer change, too.
    pub(super) has_moods: bool,
}

impl ContinuedConversation {
    /// Returns the conversation of an agent asked something; `None`: it continues none.
    pub(super) fn from_work(work: &AgentWork, question: String) -> Option<Self> {
        let persona = work.persona.as_ref();
        Some(Self {
            name: work.conversation.as_ref()?.name.clone(),
            question,
            event: persona.and_then(|persona| persona.event),
            has_moods: persona.is_some_and(|persona| persona.moods.is_some()),
        })
    }

    /// Adds the turn of an attempt that ended without an answer, where that counts.
    pub(super) async fn add_blocked(&self, run: &RunContext, attempt: &Attempt) -> Result<(), StoreError> {
        if !self.has_moods {
            return Ok(());
        }
        self.put(run, attempt, None, None).await
    }

    /// Adds the turn of an attempt. `untrusted` is the source of untrusted text its agent was given.
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
        let turn = ConversationTurn {
            at: run.session.clock.now(),
            run: run.run_ref.id.clone(),
            step: attempt.task_id.step.clone(),
            item: attempt.task_id.item,
            attempt: attempt.attempt,
            question: mask.text(&self.question).into_owned(),
            answer: mask.text(answer.unwrap_or_default()).into_owned(),
            blocked: answer.is_none(),
            event: self.event,
            untrusted,
        };
        let store = &run.session.store;
        let (folder, state) = (conversation_folder(run, &self.name), store.folder().path().to_path_buf());
        let blobs = store.blobs().in_folder(folder.clone());
        let bytes = serde_json::to_vec(&turn).unwrap_or_default();
        let put = move || {
            blobs.put_bytes(&bytes)?;
            // What cannot be removed now is removed with the next turn.
            let _ = prune(&folder, &state);
            Ok(())
        };
        let stored = tokio::task::spawn_blocking(put).await;
        stored.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()))
    }
}

/// Returns the folder of a conversation: in the state of the workspace, or where that is elsewhere, in that of the run.
pub(super) fn conversation_folder(run: &RunContext, name: &Name) -> PathBuf {
    let state = run.session.store.folder();
    let conversations = match run.session.shared.remote.get() {
        Some(_) => state.carried_conversations(&run.ownership.token.run),
        None => state.conversations(run.session_name.as_ref()),
    };
    conversations.join(name.as_str())
}

/// Returns the conversations of a session, by name.
pub fn conversations(
    state: &StateFolder,
    session: &SessionName,
) -> Result<Vec<ConversationSummary>, StoreError> {
    let folder = state.conversations(Some(session));
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", &folder, &error)),
    };
    let mut summaries = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_str().and_then(|name| Name::parse(name).ok());
        let Some(name) = name else { continue };
        let turns = turns(&entry.path(), state.path())?.counted;
        let Some(last) = turns.first() else { continue };
        summaries.push(ConversationSummary {
            name,
            turns: turns.len(),
            at: last.at,
            question: last.question.clone(),
            answer: last.answer.clone(),
        });
    }
    summaries.sort_by(|summary, other| summary.name.cmp(&other.name));
    Ok(summaries)
}

pub(super) fn turns(folder: &Path, state: &Path) -> Result<ConversationTurns, StoreError> {
    let (mut counted, mut occurred) = (Vec::new(), Vec::new());
    for judged in judged(folder, state)? {
        occurred.extend(judged.occurred);
        if judged.standing == TurnStanding::Counts && counted.len() < CONVERSATION_TURNS {
            counted.push(judged.turn);
        }
    }
    Ok(ConversationTurns { counted, occurred })
}

/// Removes the turns in a folder no agent can get any more.
pub(super) fn prune(folder: &Path, state: &Path) -> Result<(), StoreError> {
    let blobs = folder_blobs(folder);
    for digest in outdated(&judged(folder, state)?) {
        let path = blobs.path(&digest);
        std::fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, &error))?;
    }
    Ok(())
}

/// A turn and its part in the conversation.
struct JudgedTurn {
    /// The digest, and name, of its file.
    digest: Sha256Digest,
    turn: ConversationTurn,
    standing: TurnStanding,
    /// The events it tells of.
    occurred: Vec<PersonaOccurrence>,
}

/// The part of a turn in its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnStanding {
    /// Its step succeeded with its attempt.
    Counts,
    /// Its step has not ended.
    Open,
    /// Its attempt failed: it only tells of events.
    Failed,
    /// Its run was deleted, or it is there twice.
    Lost,
}

/// Returns the turns to remove, of all turns, newest first: the lost ones, and those older than the last one with
/// weight.
fn outdated(judged: &[JudgedTurn]) -> Vec<Sha256Digest> {
    let mut counted = 0;
    let old = judged.iter().filter(|judged| {
        let is_past = counted >= CONVERSATION_TURNS;
        counted += usize::from(judged.standing == TurnStanding::Counts);
        is_past || judged.standing == TurnStanding::Lost
    });
    old.map(|judged| judged.digest).collect()
}

/// Reads all turns in a folder, newest first.
fn judged(folder: &Path, state: &Path) -> Result<Vec<JudgedTurn>, StoreError> {
    let mut stored = stored(folder)?;
    stored.sort_by_key(|stored| std::cmp::Reverse((stored.1.at, stored.1.attempt)));
    let reader = StoreReader::open(state)?;
    let mut steps = BTreeMap::new();
    let mut keys = BTreeSet::new();
    let mut judged = Vec::new();
    for (digest, turn) in stored {
        if !steps.contains_key(&turn.run) {
            steps.insert(turn.run.clone(), reader.steps().of_run(&turn.run)?);
        }
        let rows = steps.get(&turn.run).map(Vec::as_slice).unwrap_or_default();
        // An attempt that ended in two engines has two turns.
        let is_first = keys.insert((turn.run.clone(), turn.step.clone(), turn.item, turn.attempt));
        let row = rows.iter().find(|row| row.step == turn.step && row.item == turn.item);
        let standing = match row {
            _ if !is_first || rows.is_empty() => TurnStanding::Lost,
            Some(row) => standing(&turn, row),
            None => TurnStanding::Open,
        };
        let occurred = match row {
            Some(row) if is_first => occurrences(&turn, row.state, row.attempts).into_iter().collect(),
            _ => Vec::new(),
        };
        judged.push(JudgedTurn { digest, turn, standing, occurred });
    }
    Ok(judged)
}

/// Returns the part of a turn whose step has come so far.
fn standing(turn: &ConversationTurn, row: &StepRow) -> TurnStanding {
    if row.state == StepState::Succeeded && row.attempts == turn.attempt && !turn.blocked {
        TurnStanding::Counts
    } else if row.state.is_final() || row.attempts > turn.attempt {
        TurnStanding::Failed
    } else {
        TurnStanding::Open
    }
}

fn stored(folder: &Path) -> Result<Vec<(Sha256Digest, ConversationTurn)>, StoreError> {
    let failed = |error: std::io::Error| StoreError::io("read", folder, &error);
    let blobs = folder_blobs(folder);
    let mut turns = Vec::new();
    for digest in blobs.digests().map_err(failed)? {
        let turn: Option<ConversationTurn> = serde_json::from_slice(&blobs.read(&digest)?).ok();
        turns.extend(turn.map(|turn| (digest, turn)));
    }
    Ok(turns)
}

pub(super) fn folder_blobs(folder: &Path) -> BlobStore {
    BlobStore::new(folder.to_owned(), StoreDurability::Normal)
}

#[cfg(test)]
mod tests {
    use super::{JudgedTurn, TurnStanding, outdated};
    use wf_base::{
        digest::Sha256Digest,
        name::{Name, RunId},
        time::Moment,
    };
    use wf_core::agent::{CONVERSATION_TURNS, ConversationTurn};

    /// Turns with the given parts, newest first.
    fn turns(standings: &[TurnStanding]) -> Vec<JudgedTurn> {
        let turn = |at: usize| ConversationTurn {
            at: Moment::from_millis(-i64::try_from(at).unwrap()),
            run: RunId::from_bytes([1; 16]),
            step: Name::parse("a").unwrap(),
            item: None,
            attempt: 1,
            question: String::new(),
            answer: String::new(),
            untrusted: None,
            blocked: false,
            event: None,
        };
        let judged = |at, standing: &TurnStanding| JudgedTurn {
            digest: digest(at),
            turn: turn(at),
            standing: *standing,
            occurred: Vec::new(),
        };
        standings.iter().enumerate().map(|(at, standing)| judged(at, standing)).collect()
    }

    fn digest(at: usize) -> Sha256Digest {
        Sha256Digest::of_bytes(at.to_string().as_bytes())
    }

    #[test]
    fn what_an_agent_can_still_get_stays() {
        use TurnStanding::{Counts, Failed, Lost, Open};
        assert!(outdated(&turns(&[Open, Counts, Failed])).is_empty());
        assert_eq!(outdated(&turns(&[Open, Lost, Counts, Lost])), [digest(1), digest(3)]);
        let mut standings = vec![Counts; CONVERSATION_TURNS];
        assert!(outdated(&turns(&standings)).is_empty());
        standings.extend([Open, Counts, Failed]);
        let past = [CONVERSATION_TURNS, CONVERSATION_TURNS + 1, CONVERSATION_TURNS + 2].map(digest);
        assert_eq!(outdated(&turns(&standings)), past);
    }
}
