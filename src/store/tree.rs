//! The trees that runs were approved with. A tree lists every file of a workspace, and many runs have the same:
//! the log holds its digest, and the list is a text like others, stored once.

use super::project::Change;
use super::{Reader, StoreError};
use crate::digest::Digest;
use crate::machine::{Approved, Event, Fact, tree_text};

/// The position of a tree among the texts of its run: before all that the run goes by.
pub(super) const POSITION: i64 = -1;

/// An event as the log holds it, and the list that is stored apart; `None`: it has none.
pub(super) fn apart(event: &Event) -> Option<(Event, Digest, String)> {
    let Fact::RunApproved(approved) = &event.fact else {
        return None;
    };
    let list = tree_text(&approved.pins)?;
    let digest = Digest::of(list.as_bytes());
    let approved = Approved {
        pins: Vec::new(),
        tree: Some(digest),
        ..(**approved).clone()
    };
    let fact = Fact::RunApproved(Box::new(approved));
    Some((
        Event {
            fact,
            ..event.clone()
        },
        digest,
        list,
    ))
}

impl Reader {
    /// Gives events the lists that are stored apart. One that is gone, or is not what the log says by its
    /// digest, is an error.
    pub(super) fn with_trees<'a>(
        &self,
        events: impl IntoIterator<Item = &'a mut Event>,
    ) -> Result<(), StoreError> {
        for event in events {
            if let Fact::RunApproved(approved) = &mut event.fact
                && let Some(tree) = approved.tree
            {
                let list = self.text(&tree)?;
                let pins = list.and_then(|list| serde_json::from_str(&list).ok());
                approved.pins = pins.ok_or_else(|| StoreError::Tampered {
                    path: self.folder().database(),
                    what: format!(
                        "the tree {tree} that a run was approved with is gone or was altered"
                    ),
                })?;
            }
        }
        Ok(())
    }
}

impl Change<'_> {
    /// Notes that the run has the list among its texts.
    pub(super) fn approved_with(&self, tree: Digest) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO sources (run, position, path, text) VALUES (?1, ?2, 'approved tree', ?3)",
            (self.run, POSITION, tree.bytes()),
        )
    }
}
