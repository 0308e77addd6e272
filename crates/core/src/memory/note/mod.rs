//! Notes: sentences people and agents tell memory, to be found again by their words (Silas 6).
//!
//! A [`MemoryNote`] is text with tags, and says how far it is to be trusted ([`NoteTrust`]) and if it came from outside. A
//! search matches words and ranks by [`NoteRank`], whose terms can be shown. Notes of the raw lane are kept for the
//! record, and are found only by a search asking for them.
//!
//! A preference is a note following from what people decide ([`prefer`]): its words are made here, and its strength grows
//! and fades with further decisions. It says nothing a person did not do, and steers nothing.
//!
//! **Invariant:** text from outside is never constitutional, and is verified only with the name of a person who confirmed
//! it: [`MemoryNote::validate`] and [`MemoryNote::trusted`] are the only ways to a note stored.

mod entry;
mod preference;
mod rank;

pub use entry::{
    BadNote, MAX_NOTE_TEXT, MAX_TAGS, MemoryNote, NoteConfirmation, NoteDraft, NoteTrust, SHARED_KINDS,
};
pub use preference::{PreferenceStrength, StepDecision, prefer};
pub use rank::{FRESHNESS_DAYS, NoteMatch, NoteQuery, NoteRank, NoteScope, QUALITY_FLOOR, RankedNote, rank};
