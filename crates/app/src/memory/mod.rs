//! The memory across runs, as people read, correct and share it. [`wf_core::memory`] defines its rules.
//!
//! Start at [`MemoryReader`]; `changes` is for the acts of people, `bundle` for its files, `knowledge` for the resulting advice
//! from it.
//!
//! **Invariant:** each change by a person is recorded in the audit log.

mod bundle;
mod changes;
mod knowledge;
mod reader;

pub use bundle::{BUNDLE_PAYLOAD, OpenedBundle, import_bundle, open_bundle};
pub(crate) use changes::open_store;
pub use changes::{
    MemoryCounts, add_note, confirm_megram, consolidate_memory, contradict_rule, erase_forgotten,
    forget_entries, set_note_trust, share_note,
};
pub use knowledge::{ClusterKnowledge, cluster_explanation, cluster_knowledge};
pub use reader::{MemoryReader, NoteSearch};
