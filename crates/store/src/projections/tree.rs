//! The trees that runs were approved with. A tree lists every file of a workspace, and many runs have the
//! same one: the log holds its digest, and the list is a text like others, stored once.

use crate::db::reader::StoreReader;
use crate::error::StoreError;
use crate::projections::project::ProjectionChange;
use wf_base::digest::Sha256Digest;
use wf_core::machine::{Event, EventKind, RunApproval, tree_text};

/// The position of a tree among the texts of its run: before all others.
const POSITION: i64 = -1;

/// Returns an event as the log holds it, and the list stored apart; `None`: it has none.
pub(crate) fn split_tree(event: &Event) -> Option<(Event, Sha256Digest, String)> {
    let EventKind::RunApproved(approved) = &event.fact else {
        return None;
    };
    let list = tree_text(&approved.pinned_files)?;
    let digest = Sha256Digest::of_bytes(list.as_bytes());
    let approved = RunApproval { pinned_files: Vec::new(), tree: Some(digest), ..(**approved).clone() };
    let fact = EventKind::RunApproved(Box::new(approved));
    Some((Event { fact, ..event.clone() }, digest, list))
}

impl StoreReader {
    /// Restores the lists of events that are stored apart. A missing list, or one that does not match its
    /// digest in the log, is an error.
    pub(crate) fn restore_trees<'a>(
        &self,
        events: impl IntoIterator<Item = &'a mut Event>,
    ) -> Result<(), StoreError> {
        for event in events {
            if let EventKind::RunApproved(approved) = &mut event.fact
                && let Some(tree) = approved.tree
            {
                let list = self.text(&tree)?;
                let pins = list.and_then(|list| serde_json::from_str(&list).ok());
                approved.pinned_files = pins.ok_or_else(|| StoreError::Tampered {
                    path: self.folder().database(),
                    what: format!("tree {tree}, which a run was approved with, is missing or was modified"),
                })?;
            }
        }
        Ok(())
    }
}

impl ProjectionChange<'_> {
    /// Records that the run has the list among its texts.
    pub(super) fn record_tree(&self, tree: Sha256Digest) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO run_sources (run, position, path, text) VALUES (?1, ?2, 'approved tree', ?3)",
            (self.run, POSITION, tree.bytes()),
        )
    }
}
