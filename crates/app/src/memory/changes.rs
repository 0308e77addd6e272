use crate::{Caller, CliExitCode, CommandError, Host, keys::author, watch};
use wf_base::digest::Sha256Digest;
use wf_core::memory::{DreamChanges, Megram, MemoryBundle, MemoryNote, NoteConfirmation, NoteTrust, dream};
use wf_store::{Store, StoreDurability, feed::WorkspaceAction};

/// Numbers of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    pub megrams: usize,
    pub notes: usize,
}

impl MemoryCounts {
    /// Returns the number of both.
    pub fn total(self) -> usize {
        self.megrams + self.notes
    }
}

/// Opens the state to change memory.
pub(crate) fn open_store(host: &Host) -> Result<Store, CommandError> {
    Ok(Store::open(&host.workspace().state, StoreDurability::Full, host.clock())?)
}

/// Adds a note; returns false if it is known.
pub fn add_note(caller: &dyn Caller, note: MemoryNote) -> Result<bool, CommandError> {
    let id = note.id;
    let is_new = open_store(caller.host())?.memory().add_notes(vec![note]).wait()? > 0;
    if is_new {
        watch::record_quietly(caller, WorkspaceAction::NoteAdded { note: id });
    }
    Ok(is_new)
}

/// Lets the Dreamer consolidate the megrams that were read; returns the changes. With `is_dry`, nothing is changed.
pub fn consolidate_memory(
    caller: &dyn Caller,
    megrams: &[Megram],
    is_dry: bool,
) -> Result<DreamChanges, CommandError> {
    let now = caller.host().now();
    if is_dry || megrams.is_empty() {
        return Ok(dream(megrams, now));
    }
    let changes = open_store(caller.host())?.memory().dream(now).wait()?;
    if !changes.is_empty() {
        let act = WorkspaceAction::MemoryDreamt {
            forgotten: changes.forget.len() as u64,
            demoted: changes.demote.len() as u64,
            promoted: changes.promote.len() as u64,
        };
        watch::record_quietly(caller, act);
    }
    Ok(changes)
}

/// Stores evidence of a person against a rule.
pub fn contradict_rule(
    caller: &dyn Caller,
    rule: Sha256Digest,
    evidence: Megram,
) -> Result<(), CommandError> {
    let megram = evidence.id;
    if open_store(caller.host())?.memory().remember(vec![evidence]).wait()? > 0 {
        watch::record_quietly(caller, WorkspaceAction::MemoryFeedback { rule, megram });
    }
    Ok(())
}

/// Deletes entries; returns their numbers. What is left of them in the files of the database is erased by
/// [`erase_forgotten`].
pub fn forget_entries(caller: &dyn Caller, entries: &MemoryBundle) -> Result<MemoryCounts, CommandError> {
    let store = open_store(caller.host())?;
    let megrams = store.memory().forget(entries.megrams.iter().map(|megram| megram.id).collect()).wait()?;
    let notes = store.memory().forget(entries.notes.iter().map(|note| note.id).collect()).wait()?;
    let action = WorkspaceAction::MemoryForgotten { megrams: megrams as u64, notes: notes as u64 };
    watch::record_quietly(caller, action);
    Ok(MemoryCounts { megrams, notes })
}

/// Overwrites what is left of deleted text in the files of the database, if there is one.
pub fn erase_forgotten(host: &Host) -> Result<(), CommandError> {
    if !host.workspace().state.exists() {
        return Ok(());
    }
    let store = open_store(host)?;
    let scrubbed = store.scrub();
    if matches!(scrubbed, Ok(true)) {
        return Ok(());
    }
    let cause = scrubbed.err().map_or_else(|| "another process reads it".into(), |error| error.to_string());
    let path = store.folder().database();
    let message =
        format!("deleted text may be left in unused parts of {} and its log: {cause}", path.display());
    Err(CommandError::new(CliExitCode::State, message)
        .hint("repeat the command, with the same selection, once no run and no daemon works"))
}

/// Shares a note of a session with all sessions.
pub fn share_note(caller: &dyn Caller, note: MemoryNote) -> Result<(), CommandError> {
    let key = author(caller.host());
    let who = key.as_ref().map_or_else(|| "user".to_owned(), |key| key.name.clone());
    let (id, session) = (note.id, note.session.clone());
    let shared = note.promote(NoteConfirmation { who, at: caller.host().now() });
    open_store(caller.host())?.memory().replace_note(shared).wait()?;
    if let Some(session) = session {
        let key = key.map(|key| key.public.id());
        watch::record_quietly(caller, WorkspaceAction::NotePromoted { note: id, session, key });
    }
    Ok(())
}

/// Replaces a note by itself with the trust a person gave it.
pub fn set_note_trust(
    caller: &dyn Caller,
    changed: MemoryNote,
    trust: NoteTrust,
) -> Result<(), CommandError> {
    let note = changed.id;
    open_store(caller.host())?.memory().replace_note(changed).wait()?;
    watch::record_quietly(caller, WorkspaceAction::NoteTrusted { note, trust: trust.to_string() });
    Ok(())
}

/// Replaces a claim by itself as a person confirmed it.
pub fn confirm_megram(caller: &dyn Caller, changed: &Megram, trust: NoteTrust) -> Result<(), CommandError> {
    open_store(caller.host())?.memory().confirm_claim(changed).wait()?;
    let megram = changed.id;
    watch::record_quietly(caller, WorkspaceAction::MegramTrusted { megram, trust: trust.to_string() });
    Ok(())
}
