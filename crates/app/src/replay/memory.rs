use crate::{Caller, CommandError, Workspace};
use wf_base::name::SessionName;
use wf_core::memory::MemoryBundle;
use wf_store::{MegramSelection, RunRow, Store, StoreDurability, StoreError, StoreReader};

/// The memory of a workspace as far as it was there at the start of a run, and the session of the run. A recording has none.
#[derive(Clone, Debug, Default)]
pub struct ReplayMemory {
    bundle: MemoryBundle,
    session: Option<SessionName>,
}

impl ReplayMemory {
    /// Reads that of a run.
    pub(super) fn of_run(reader: &StoreReader, row: &RunRow) -> Result<Self, StoreError> {
        let mut bundle = MemoryBundle {
            megrams: reader.memory().megrams(&MegramSelection::All)?,
            notes: reader.memory().notes()?,
        };
        bundle.megrams.retain(|megram| megram.created < row.created);
        bundle.notes.retain(|note| note.created < row.created);
        Ok(Self { bundle, session: row.session.clone() })
    }

    /// Puts it into the state of a replay; returns the session.
    pub fn restore(
        self,
        caller: &dyn Caller,
        workspace: &Workspace,
    ) -> Result<Option<SessionName>, CommandError> {
        let host = caller.host();
        let store = Store::open(&workspace.state, StoreDurability::Normal, host.clock())?;
        if let Some(session) = &self.session {
            store.sessions().begin(session, host.now()).wait()?;
        }
        store.memory().import(self.bundle).wait()?;
        Ok(self.session)
    }
}
