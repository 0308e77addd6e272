use super::named_or_current;
use crate::{CliExitCode, CommandError, Host, memory::MemoryReader};
use wf_base::{
    name::{RunId, SessionName},
    remedy::UserAction,
};
use wf_core::{memory::MemoryNote, session::SessionRefusal};
use wf_store::{RunFilter, RunState, StoreError, StoreReader};

/// A session of the workspace, with the runs and the notes in it.
pub struct OpenedSession {
    pub name: SessionName,
    reader: StoreReader,
    memory: MemoryReader,
}

impl OpenedSession {
    /// Opens a session by its name.
    pub fn open(host: &Host, name: SessionName) -> Result<Self, CommandError> {
        let reader = StoreReader::open(&host.workspace().state)?;
        Ok(Self { name, reader, memory: MemoryReader::open(host)? })
    }

    /// Opens the given session, or the current one.
    pub fn find(host: &Host, name: Option<&SessionName>) -> Result<Self, CommandError> {
        let reader = StoreReader::open(&host.workspace().state)?;
        let name = named_or_current(&reader, name)?.name;
        Ok(Self { name, reader, memory: MemoryReader::open(host)? })
    }

    /// Opens the given session, or the current one, and refuses one that has ended.
    pub fn find_active(host: &Host, name: Option<&SessionName>) -> Result<Self, CommandError> {
        let reader = StoreReader::open(&host.workspace().state)?;
        let session = named_or_current(&reader, name)?;
        if session.state.is_over() {
            let refusal = SessionRefusal::Over { name: session.name, state: session.state };
            return Err(StoreError::Session(refusal).into());
        }
        Ok(Self { name: session.name, reader, memory: MemoryReader::open(host)? })
    }

    /// True if it is the current one.
    pub fn is_current(&self) -> Result<bool, CommandError> {
        Ok(self.reader.sessions().current()?.is_some_and(|current| current.name == self.name))
    }

    /// Returns its unended outermost runs, newest first; true for those a process works on, or waits in.
    fn open_runs(&self) -> Result<Vec<(RunId, bool)>, CommandError> {
        let state = Some(RunState::Running);
        let filter = RunFilter { session: Some(self.name.clone()), state, ..RunFilter::default() };
        let rows = self.reader.runs().list(usize::MAX, &filter)?.into_iter();
        let open = rows.map(|row| {
            let owner = self.reader.leases().owner(&row.id)?;
            Ok((row.id, owner.is_some_and(|owner| owner.alive)))
        });
        open.collect()
    }

    /// Returns the runs with a process.
    pub fn live_runs(&self) -> Result<Vec<RunId>, CommandError> {
        let open = self.open_runs()?.into_iter();
        Ok(open.filter(|(_, is_live)| *is_live).map(|(run, _)| run).collect())
    }

    /// Returns the runs waiting to be resumed, the oldest first, with those waiting for an approval still.
    pub fn resting_runs(&self) -> Result<Vec<RunId>, CommandError> {
        let open = self.open_runs()?.into_iter().rev();
        Ok(open.filter(|(_, is_live)| !is_live).map(|(run, _)| run).collect())
    }

    /// Refuses to end the session as completed while runs of it have not ended.
    pub fn require_ended_runs(&self) -> Result<(), CommandError> {
        let runs: Vec<RunId> = self.open_runs()?.into_iter().map(|(run, _)| run).collect();
        let action = UserAction::ListSessionRuns(self.name.clone());
        self.require_none(&runs, "have not ended", "resume or cancel them first: ", action)
    }

    /// Refuses to end the session as failed while a process works on runs of it.
    pub fn require_no_live_runs(&self) -> Result<(), CommandError> {
        let action = UserAction::SuspendSession(self.name.clone());
        self.require_none(&self.live_runs()?, "are under way", "suspend it first: ", action)
    }

    /// Refuses if there are such runs; the predicate says of them why, and the text leads to the remedy.
    fn require_none(
        &self,
        runs: &[RunId],
        predicate: &str,
        remedy_text: &str,
        action: UserAction,
    ) -> Result<(), CommandError> {
        if runs.is_empty() {
            return Ok(());
        }
        let name = &self.name;
        let short: Vec<&str> = runs.iter().map(RunId::short).collect();
        let message = format!("runs of session `{name}` {predicate}: {}", short.join(", "));
        Err(CommandError::new(CliExitCode::Usage, message).remedy(remedy_text, action))
    }

    /// Returns a note written in it, by its id.
    pub fn find_note(&self, id: &str) -> Result<MemoryNote, CommandError> {
        let note = self.memory.find_note(id)?;
        let name = &self.name;
        if note.session.as_ref() == Some(name) {
            return Ok(note);
        }
        let message = format!("note {} was not written in session `{name}`", note.id.short());
        Err(CommandError::new(CliExitCode::Usage, message)
            .remedy("its notes: ", UserAction::SearchSessionNotes(name.clone())))
    }

    /// Returns the number of its notes that no other session finds.
    pub fn unshared_notes(&self) -> Result<usize, CommandError> {
        let notes = self.memory.notes()?;
        let is_own = |note: &&MemoryNote| note.session.as_ref() == Some(&self.name) && !note.is_shared();
        Ok(notes.iter().filter(is_own).count())
    }
}
