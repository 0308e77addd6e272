//! The workspace of a run a backend drives, as a host knows it: its files are here, and nothing else of it is.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use wf_base::name::Name;
use wf_core::agent::{ConversationTurn, PersonaOccurrence};
use wf_exec::{WorkError, worktree::WorktreeGit};

use super::engine_session::EngineSession;

/// A workspace that is elsewhere, as far as its run needs to know it.
#[derive(Clone, Debug, Default)]
pub struct RemoteWorkspace {
    /// The conversations open to agents.
    pub conversations: EarlierConversations,
    /// The path of its state, relative to the workspace if it is in there.
    pub state_folder: PathBuf,
    /// True if the workspace is the top folder of a git repository.
    pub is_repository: bool,
}

impl EngineSession {
    /// Makes a repository of the files of a workspace with one elsewhere, unless it is there.
    pub async fn make_repository(&self) -> Result<(), WorkError> {
        if !self.shared.remote.get().is_some_and(|workspace| workspace.is_repository) {
            return Ok(());
        }
        let unfinished = self.store.folder().path().join("repository.new");
        WorktreeGit::make_own(self.executor.clone(), &self.root, &self.host, &unfinished).await
    }

    /// Returns the path of a file of the state as people know it, who see the workspace.
    pub(crate) fn shown_path(&self, path: &Path) -> String {
        let own = self.store.folder().path();
        let shown = match (self.shared.remote.get(), path.strip_prefix(own)) {
            (Some(workspace), Ok(below)) => workspace.state_folder.join(below),
            _ => path.strip_prefix(&self.root).unwrap_or(path).to_owned(),
        };
        shown.display().to_string()
    }
}

/// The conversations the agents of a run may continue, as they were before it started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EarlierConversations(pub(crate) BTreeMap<Name, ConversationTurns>);

impl EarlierConversations {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the turns of a conversation from before the run to those of the run.
    pub(crate) fn add_to(&self, turns: ConversationTurns, name: &Name) -> ConversationTurns {
        match self.0.get(name) {
            Some(earlier) => turns.and(earlier.clone()),
            None => turns,
        }
    }
}

/// The turns of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConversationTurns {
    /// The last turns that count.
    pub(crate) counted: Vec<ConversationTurn>,
    /// The events that all turns tell of.
    pub(crate) occurred: Vec<PersonaOccurrence>,
}

impl ConversationTurns {
    pub(crate) fn is_empty(&self) -> bool {
        self.counted.is_empty() && self.occurred.is_empty()
    }

    pub(crate) fn and(mut self, other: Self) -> Self {
        self.counted.extend(other.counted);
        self.occurred.extend(other.occurred);
        self
    }
}
